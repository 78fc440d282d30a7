// The same in Rust, which calls the functions of the header: predict MODEL VALUES... (numbers of one row)
//
//     cc -std=c99 -O2 -I "$(python -c 'import boostforest; print(boostforest.get_include())')" -c boostforest.c
//     ar rcs libboostforest.a boostforest.o
//     rustc -O predict.rs -L . -l static=boostforest -l m

use std::ffi::{c_char, c_int, CStr, CString};

#[repr(C)]
pub struct RawForest {
    _private: [u8; 0], // only the header knows what is in it
}

extern "C" {
    fn bf_open(path: *const c_char, status: *mut c_int) -> *mut RawForest;
    fn bf_close(forest: *mut RawForest);
    fn bf_error(status: c_int) -> *const c_char;
    fn bf_n_results(forest: *const RawForest) -> i32;
    fn bf_work(forest: *const RawForest, n_rows: usize) -> usize;
    fn bf_predict(forest: *const RawForest, row: *const f64, n: usize, result: *mut f64, work: *mut f64) -> c_int;
}

struct Forest {
    raw: *mut RawForest,
}

fn check(status: c_int) -> Result<(), String> {
    match status {
        0 => Ok(()),
        // The text is a constant of the header.
        _ => Err(unsafe { CStr::from_ptr(bf_error(status)) }.to_string_lossy().into_owned()),
    }
}

impl Forest {
    fn open(path: &str) -> Result<Forest, String> {
        let path = CString::new(path).map_err(|_| "the path has a character of code 0".to_string())?;
        let mut status = 0;
        let raw = unsafe { bf_open(path.as_ptr(), &mut status) };
        check(status).map(|_| Forest { raw })
    }

    /// The target, or the probability of each class.
    fn predict(&self, row: &[f64]) -> Result<Vec<f64>, String> {
        let mut results = vec![0.0; unsafe { bf_n_results(self.raw) } as usize];
        let mut work = vec![0.0; unsafe { bf_work(self.raw, 1) }];
        let status = unsafe { bf_predict(self.raw, row.as_ptr(), row.len(), results.as_mut_ptr(), work.as_mut_ptr()) };
        check(status).map(|_| results)
    }
}

impl Drop for Forest {
    fn drop(&mut self) {
        unsafe { bf_close(self.raw) }
    }
}

fn run() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, values) = arguments.split_first().ok_or("usage: predict MODEL VALUES...")?;
    let row: Result<Vec<f64>, _> = values.iter().map(|text| text.parse()).collect();
    let row = row.map_err(|error| format!("{}", error))?;
    let results = Forest::open(path)?.predict(&row)?;
    println!("{}", results.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" "));
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("{}", error);
        std::process::exit(1);
    }
}
