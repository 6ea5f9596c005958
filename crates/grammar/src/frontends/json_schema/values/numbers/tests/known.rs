use super::*;

#[test]
fn show() {
    for text in ["", "int", ">=0", ">0", ">=1", "int >=0", "int >=1", "int >=0 <=100", ">=0 <=100", ">=0 <=1", "int >=-90 <=90",
        ">=-90 <=90", "int >=0 <=65535", "int >=-9223372036854775808 <=9223372036854775807", "%0.01", "%0.01 >=0", "int %10", "%5", "int %7 >=0", "=5", ">=0.5 <=100", "int >=0 <=9223372036854776000", "<=1e308"] {
        let s = set(text);
        let started = std::time::Instant::now();
        let printed = printed(&s, Spelling::default());
        println!("{text:40} {:?} {} states {}", started.elapsed(), language(&s).len(), printed.len());
        println!("      {}", &printed[..printed.len().min(900)]);
        let s = super::printed(&s, Spelling { integers_as_floats: false, negative_zero: false });
        println!("   4: {}", &s[..s.len().min(300)]);
    }
}
