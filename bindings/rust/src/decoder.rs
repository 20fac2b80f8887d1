use std::any::Any;
use std::ffi::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};

use crate::ffi::{self, Opaque};
use crate::{bytes_of, check, copied, CallOptions, Input, Result, Tensor};

/// How tokens are drawn. `top_k` 0 and `top_p` 1 draw from all tokens; `temperature` 0 always takes the most likely
/// token.
#[derive(Debug, Clone, Copy)]
pub struct Sampling {
    pub temperature: f64,
    pub top_k: i64,
    pub top_p: f64,
    pub seed: u64,
}

/// Options of generation. `None` means the default of `generation_config.json`.
#[derive(Default)]
pub struct Generate<'a> {
    pub max_new_tokens: Option<i64>,
    pub sampling: Option<Sampling>,
    pub stop_ids: Option<&'a [i64]>,
    /// Receives the index of the prompt and each token as soon as it is known; false ends generation.
    pub on_token: Option<&'a mut dyn FnMut(usize, i64) -> bool>,
}

/// A function that receives tokens, and the payload of its panic, if any.
struct Listener<'a> {
    on_token: &'a mut dyn FnMut(usize, i64) -> bool,
    panic: Option<Box<dyn Any + Send>>,
}

// A panic must not unwind through C: the process would abort.
unsafe extern "C" fn tell(prompt: usize, token: i64, user: *mut c_void) -> i32 {
    let told = &mut *user.cast::<Listener>();
    match catch_unwind(AssertUnwindSafe(|| (told.on_token)(prompt, token))) {
        Ok(goes_on) => i32::from(!goes_on),
        Err(panic) => {
            told.panic = Some(panic);
            1
        }
    }
}

/// How a decoder is opened and run. The defaults are those of the library.
#[derive(Debug, Clone, Copy, Default)]
pub struct DecoderOptions<'a> {
    /// Safety limits that differ from the defaults, as in [`LoadOptions`](crate::LoadOptions).
    pub limits: &'a str,
    /// Use the reference engine instead of the planned one.
    pub reference_engine: bool,
    /// The most threads that compute a call; 0: all CPUs that the process may use.
    pub threads: u32,
    /// The number of tokens that a fixed-size cache holds, if the program does not fix it.
    pub cache_length: Option<i64>,
}

/// A language model: a folder written by Transformers' exporter, or one program that takes token ids.
pub struct Decoder {
    decoder: *mut Opaque,
    call: CallOptions,
}
// SAFETY: methods take &mut self, so one thread at a time uses the handle.
unsafe impl Send for Decoder {}
impl Decoder {
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Self::open_with(path, DecoderOptions::default())
    }
    pub fn open_with(
        path: impl AsRef<std::path::Path>,
        how: DecoderOptions<'_>,
    ) -> Result<Self> {
        let path = bytes_of(path.as_ref());
        let options = ffi::DecoderOptions {
            size: std::mem::size_of::<ffi::DecoderOptions>(),
            limits: how.limits.as_ptr().cast(),
            limits_length: how.limits.len(),
            operators: null(),
            engine: how.reference_engine.into(),
            threads: how.threads,
            cache_length: how.cache_length.unwrap_or(0),
        };
        let mut decoder = null_mut();
        let text = path.as_ptr().cast();
        check(unsafe { ffi::pt2_decoder_open(text, path.len(), &options, &mut decoder) })?;
        Ok(Decoder { decoder, call: CallOptions::default() })
    }
    /// Sets what ends later calls early.
    pub fn set_call_options(&mut self, options: CallOptions) {
        self.call = options;
    }
    /// Sets the inputs that the programs take beside tokens, by name. If the model has an encoder, these are the
    /// encoder's inputs and the encoder runs now.
    pub fn give(&mut self, inputs: &[(&str, Input<'_>)]) -> Result<()> {
        let values =
            inputs.iter().map(|(_, input)| copied(&input.view)).collect::<Result<Vec<Tensor>>>()?;
        let named: Vec<_> = inputs
            .iter()
            .zip(&values)
            .map(|((name, _), tensor)| ffi::NamedValue {
                name: name.as_ptr().cast(),
                name_length: name.len(),
                value: tensor.value,
            })
            .collect();
        let call = self.call.to_c();
        check(unsafe { ffi::pt2_decoder_give(self.decoder, named.as_ptr(), named.len(), &call) })
    }
    /// Returns the new tokens of each prompt. Prompts are computed together if the program takes more than one
    /// sequence.
    pub fn generate(&mut self, prompts: &[&[i64]], how: Generate<'_>) -> Result<Vec<Vec<i64>>> {
        if how.max_new_tokens == Some(0) {
            // The library takes 0 for the default.
            return Ok(vec![Vec::new(); prompts.len()]);
        }
        let ids = prompts.concat();
        let counts: Vec<usize> = prompts.iter().map(|prompt| prompt.len()).collect();
        let sampling =
            how.sampling.unwrap_or(Sampling { temperature: 0.0, top_k: 0, top_p: 1.0, seed: 0 });
        let mut told = how.on_token.map(|on_token| Listener { on_token, panic: None });
        let options = ffi::GenerateOptions {
            size: std::mem::size_of::<ffi::GenerateOptions>(),
            max_new_tokens: how.max_new_tokens.unwrap_or(0),
            has_sampling: how.sampling.is_some().into(),
            temperature: sampling.temperature,
            top_k: sampling.top_k,
            top_p: sampling.top_p,
            seed: sampling.seed,
            stop_ids: how.stop_ids.map_or(null(), |stop| stop.as_ptr()),
            stop_count: how.stop_ids.map_or(0, |stop| stop.len()),
            token: None,
            token_of: told.is_some().then_some(tell as _),
            user: told.as_mut().map_or(null_mut(), |each| std::ptr::from_mut(each).cast()),
        };
        let call = self.call.to_c();
        let mut tokens = vec![null_mut(); prompts.len()];
        let done = check(unsafe {
            ffi::pt2_decoder_generate_batch(
                self.decoder,
                ids.as_ptr(),
                counts.as_ptr(),
                prompts.len(),
                &options,
                &call,
                tokens.as_mut_ptr(),
                null_mut(),
            )
        });
        let tensors: Vec<Tensor> = tokens.into_iter().map(|value| Tensor { value }).collect();
        if let Some(panic) = told.and_then(|each| each.panic) {
            resume_unwind(panic);
        }
        done?;
        tensors.iter().map(|each| Ok(each.as_slice::<i64>()?.to_vec())).collect()
    }
}
impl Drop for Decoder {
    fn drop(&mut self) {
        unsafe { ffi::pt2_decoder_free(self.decoder) }
    }
}
