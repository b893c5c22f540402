//! Where a panic happened: the payload does not say, the hook does.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use sluice_base::Error;

thread_local! {
    static LOCATION: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Remembers the place of each panic for its thread; the hook that was there before still runs. Once a process.
pub fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let place = info.location().map_or_else(String::new, |l| format!("{}:{}", l.file(), l.line()));
            // A thread that is ending has no such variable any more; the place is then lost, the panic is not.
            let _ = LOCATION.try_with(|location| location.replace(place));
            previous(info);
        }));
    });
}

/// The error that a caught panic becomes.
pub fn to_error(payload: Box<dyn Any + Send>) -> Error {
    let what = match payload.downcast_ref::<&'static str>() {
        Some(text) => (*text).to_owned(),
        None => payload.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic without text".to_owned()),
    };
    // Dropping a payload may itself panic.
    let _ = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
    let place = LOCATION.try_with(RefCell::take).unwrap_or_default();
    Error::internal(format!("defect of the engine at {place}: {what}; please report it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_and_text_reach_the_error() {
        install_hook();
        let payload = panic::catch_unwind(|| panic!("boom {}", 7)).unwrap_err();
        let message = to_error(payload).to_string();
        assert!(message.contains("boom 7") && message.contains("panic.rs:"), "{message}");
        let payload = panic::catch_unwind(|| panic::panic_any(7_i32)).unwrap_err();
        assert!(to_error(payload).to_string().contains("without text"));
    }
}
