//! The functions of `f64` that need `std`, for builds without it.

/// The methods that `std` gives to `f64`, implemented with `libm`.
pub trait Float {
    fn powf(self, exponent: f64) -> f64;
    fn powi(self, exponent: i32) -> f64;
    fn ln(self) -> f64;
    fn ln_1p(self) -> f64;
    fn exp(self) -> f64;
    fn exp_m1(self) -> f64;
    fn log2(self) -> f64;
    fn sqrt(self) -> f64;
    fn floor(self) -> f64;
    fn ceil(self) -> f64;
    fn round(self) -> f64;
    fn fract(self) -> f64;
}

impl Float for f64 {
    fn powf(self, exponent: f64) -> f64 {
        libm::pow(self, exponent)
    }

    fn powi(self, exponent: i32) -> f64 {
        libm::pow(self, exponent.into())
    }

    fn ln(self) -> f64 {
        libm::log(self)
    }

    fn ln_1p(self) -> f64 {
        libm::log1p(self)
    }

    fn exp(self) -> f64 {
        libm::exp(self)
    }

    fn exp_m1(self) -> f64 {
        libm::expm1(self)
    }

    fn log2(self) -> f64 {
        libm::log2(self)
    }

    fn sqrt(self) -> f64 {
        libm::sqrt(self)
    }

    fn floor(self) -> f64 {
        libm::floor(self)
    }

    fn ceil(self) -> f64 {
        libm::ceil(self)
    }

    fn round(self) -> f64 {
        libm::round(self)
    }

    fn fract(self) -> f64 {
        self - libm::trunc(self)
    }
}
