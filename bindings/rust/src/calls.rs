use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Duration;

use crate::ffi::{self, Opaque};
use crate::{check, Result};

struct StopHandle(*mut Opaque);
// SAFETY: any thread may request a stop at any time.
unsafe impl Send for StopHandle {}
unsafe impl Sync for StopHandle {}
impl Drop for StopHandle {
    fn drop(&mut self) {
        unsafe { ffi::pt2_stop_free(self.0) }
    }
}

/// Cancels calls from any thread. Clones are the same stop.
#[derive(Clone)]
pub struct Stop(Arc<StopHandle>);
impl Stop {
    pub fn new() -> Result<Self> {
        let mut out = null_mut();
        check(unsafe { ffi::pt2_stop_create(&mut out) })?;
        Ok(Stop(Arc::new(StopHandle(out))))
    }
    /// Running calls end soon, later calls end at once.
    pub fn request(&self) {
        unsafe { ffi::pt2_stop_request(self.0 .0) }
    }
}

/// What ends calls early, with the error [`code::CANCELLED`](crate::code::CANCELLED).
#[derive(Clone, Default)]
pub struct CallOptions {
    /// The most time that a call may take.
    pub timeout: Option<Duration>,
    pub stop: Option<Stop>,
}
impl CallOptions {
    pub(crate) fn to_c(&self) -> ffi::CallOptions {
        // The library takes 0 for no deadline.
        let nanoseconds =
            |timeout: Duration| i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX).max(1);
        ffi::CallOptions {
            size: std::mem::size_of::<ffi::CallOptions>(),
            stop: self.stop.as_ref().map_or(null(), |stop| stop.0 .0),
            timeout_ns: self.timeout.map_or(0, nanoseconds),
            step: None,
            user: null_mut(),
        }
    }
}
