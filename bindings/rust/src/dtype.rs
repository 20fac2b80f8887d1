use crate::ffi;

macro_rules! dtypes {
    ($($name:ident, $text:expr, $code:expr, $bits:expr;)*) => {
        /// A dtype of PyTorch.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Dtype { $($name),* }
        impl Dtype {
            /// All dtypes.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$name),*];
            /// Returns PyTorch's name, `"float32"`.
            pub fn name(self) -> &'static str {
                match self { $(Dtype::$name => $text),* }
            }
            pub(crate) const fn to_c(self) -> ffi::Dtype {
                match self { $(Dtype::$name => ffi::Dtype { code: $code, bits: $bits }),* }
            }
        }
    };
}
// The last two columns are DLPack's code and bits.
dtypes! {
    Float32, "float32", 2, 32;
    Float64, "float64", 2, 64;
    Int8, "int8", 0, 8;
    Int16, "int16", 0, 16;
    Int32, "int32", 0, 32;
    Int64, "int64", 0, 64;
    Uint8, "uint8", 1, 8;
    Uint16, "uint16", 1, 16;
    Uint32, "uint32", 1, 32;
    Uint64, "uint64", 1, 64;
    Bool, "bool", 6, 8;
    Float16, "float16", 2, 16;
    Bfloat16, "bfloat16", 4, 16;
    Float8E4m3fn, "float8_e4m3fn", 10, 8;
    Float8E4m3fnuz, "float8_e4m3fnuz", 11, 8;
    Float8E5m2, "float8_e5m2", 12, 8;
    Float8E5m2fnuz, "float8_e5m2fnuz", 13, 8;
    Float8E8m0fnu, "float8_e8m0fnu", 14, 8;
    Complex32, "complex32", 5, 32;
    Complex64, "complex64", 5, 64;
    Complex128, "complex128", 5, 128;
}
impl Dtype {
    /// Returns the number of bytes of an element.
    pub fn size(self) -> usize {
        usize::from(self.to_c().bits) / 8
    }
    pub(crate) fn from_c(from: ffi::Dtype) -> Option<Dtype> {
        Dtype::ALL.iter().copied().find(|each| each.to_c() == from)
    }
}

mod sealed {
    pub trait Sealed {}
}
/// A Rust type that tensors can have as their element type. `[f32; 2]` and `[f64; 2]` are the complex numbers, the real
/// part first.
pub trait Element: sealed::Sealed + Copy {
    #[doc(hidden)]
    const DTYPE: Dtype;
}
macro_rules! elements {
    ($($name:ty => $dtype:ident;)*) => {
        $(impl sealed::Sealed for $name {}
          impl Element for $name { const DTYPE: Dtype = Dtype::$dtype; })*
    };
}
elements! {
    i8 => Int8; i16 => Int16; i32 => Int32; i64 => Int64;
    u8 => Uint8; u16 => Uint16; u32 => Uint32; u64 => Uint64;
    f32 => Float32; f64 => Float64; bool => Bool;
    [f32; 2] => Complex64; [f64; 2] => Complex128;
}
