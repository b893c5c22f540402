//! The one way in: how every export of the JNI door runs and what its failures become in Java.

use jni::Env;
use jni::JValue;
use jni::errors::{ErrorPolicy, Result as JniResult};
use jni::objects::{JString, JThrowable};
use jni::{jni_sig, jni_str};
use sluice_base::Error;
use std::any::Any;

/// Why an export failed.
#[derive(Debug)]
pub enum Failure {
    /// The engine refused.
    Engine(Error),
    /// A call of the JVM refused; an exception may be pending.
    Java(jni::errors::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<jni::errors::Error> for Failure {
    fn from(error: jni::errors::Error) -> Self {
        Self::Java(error)
    }
}

/// Errors and panics become a `StoreException`; an exception already pending stays.
pub struct Policy;

impl<T: Default> ErrorPolicy<T, Failure> for Policy {
    type Captures<'frame: 'call, 'call> = ();

    fn on_error<'frame: 'call, 'call>(env: &mut Env<'frame>, _: &mut (), failure: Failure) -> JniResult<T> {
        let error = match failure {
            Failure::Engine(error) => error,
            Failure::Java(error) => Error::internal(format!("a call of the JVM failed: {error}")),
        };
        throw(env, &error)?;
        Ok(T::default())
    }

    fn on_panic<'frame: 'call, 'call>(env: &mut Env<'frame>, _: &mut (), payload: Box<dyn Any + Send>) -> JniResult<T> {
        throw(env, &crate::panic::to_error(payload))?;
        Ok(T::default())
    }
}

fn throw(env: &mut Env<'_>, error: &Error) -> JniResult<()> {
    if env.exception_check() {
        return Ok(());
    }
    // Inside a native method the class loader of the calling class is asked, so each loader gets its own exception class;
    // a cached reference would pin the first loader for ever.
    let class = env.find_class(jni_str!("io/sluice/store/StoreException"))?;
    let message = JString::from_str(env, error.message())?;
    let arguments = [
        JValue::Int(error.kind().code()),
        JValue::Int(error.subject().code()),
        JValue::Object(message.as_ref()),
        JValue::Bool(error.kind().is_retryable()),
    ];
    let exception = env.new_object(class, jni_sig!("(IILjava/lang/String;Z)V"), &arguments)?;
    let exception = env.cast_local::<JThrowable>(exception)?;
    // Throwing reports "an exception is pending" as an error; here it is the aim.
    let _ = env.throw(exception);
    Ok(())
}

/// Defines an export: `export!(fn Java_...(env, a: jint) -> jlong { body })`. The body gives `Result<_, Failure>`.
#[macro_export]
#[doc(hidden)]
macro_rules! export {
    (fn $name:ident($env:ident $(, $arg:ident: $type:ty)*) -> $result:ty $body:block) => {
        #[unsafe(no_mangle)]
        #[allow(missing_docs, non_snake_case)]
        pub extern "system" fn $name<'local>(
            mut unowned: jni::EnvUnowned<'local>,
            _class: jni::objects::JClass<'local>
            $(, $arg: $type)*
        ) -> $result {
            unowned
                .with_env(|$env| -> Result<$result, $crate::error::Failure> { $body })
                .resolve::<$crate::error::Policy>()
        }
    };
}
