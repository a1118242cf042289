//! The progress bar.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{sync::OnceLock, time::Duration};

/// Delay before progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// The progress bar, once it exists.
static BAR: OnceLock<ProgressBar> = OnceLock::new();

/// Hides the progress bar during `work`, such as writing a message.
pub fn suspended<T>(work: impl FnOnce() -> T) -> T {
    match BAR.get() {
        Some(bar) => bar.suspend(work),
        None => work(),
    }
}

/// Removes the progress bar.
pub fn clear() {
    if let Some(bar) = BAR.get() {
        bar.finish_and_clear();
    }
}

/// Names the stage that the progress bar shows.
pub fn set_stage(stage: &'static str) {
    if let Some(bar) = BAR.get() {
        bar.set_message(stage);
    }
}

/// Stops updates of the progress bar.
pub fn freeze() {
    if let Some(bar) = BAR.get() {
        bar.abandon();
    }
}

/// Shows stages after a delay.
pub fn show_later() {
    let bar = BAR.get_or_init(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())).clone();
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        if !bar.is_finished() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(100));
        }
    });
}
