//! Headless Chromium, driven through its debugging protocol.
//!
//! If Chromium is missing, tests say so and pass.
#![allow(dead_code, reason = "not every test file needs all of it")]

use headless_chrome::browser::tab::Tab;
use headless_chrome::protocol::cdp::Emulation::{
    MediaFeature, SetDeviceMetricsOverride, SetEmulatedMedia,
};
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::{Browser, LaunchOptions};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Where Chromium is, if it is there.
pub(crate) fn chromium() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let path = std::env::var_os("PATH")?;
        let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
        std::env::split_paths(&path)
            .flat_map(|directory| names.map(|name| directory.join(name)))
            .find(|path| path.is_file())
    });
    if found.is_none() {
        eprintln!("Chromium is missing (.ci/run installs it): the tests of the page are SKIPPED");
    }
    found.clone()
}

/// A page in a browser, and what it complained about.
pub(crate) struct Shown {
    pub tab: Arc<Tab>,
    complaints: Arc<Mutex<Vec<String>>>,
    _browser: Browser,
    _profile: tempfile::TempDir,
}

impl Shown {
    /// Opens a file; `None` without a browser.
    pub(crate) fn open(file: &Path) -> Option<Shown> {
        Shown::visit(&format!("file://{}", file.display()))
    }

    /// Opens an address.
    pub(crate) fn visit(address: &str) -> Option<Shown> {
        let profile = tempfile::tempdir().expect("a temporary directory");
        let arguments = [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ];
        let options = LaunchOptions {
            path: Some(chromium()?),
            sandbox: false,
            user_data_dir: Some(profile.path().to_path_buf()),
            args: arguments.iter().map(OsStr::new).collect(),
            window_size: Some((1280, 900)),
            idle_browser_timeout: Duration::from_secs(120),
            ..LaunchOptions::default()
        };
        let browser = Browser::new(options).expect("the browser starts");
        let tab = browser.new_tab().expect("a tab");
        tab.set_default_timeout(Duration::from_secs(30));
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let kept = complaints.clone();
        let listen = move |event: &Event| {
            let text = match event {
                Event::RuntimeExceptionThrown(thrown) => format!("{:?}", thrown.params),
                Event::RuntimeConsoleAPICalled(called) => format!("{:?}", called.params),
                Event::LogEntryAdded(added) => format!("{:?}", added.params.entry),
                _ => return,
            };
            kept.lock().expect("no panic").push(text);
        };
        tab.add_event_listener(Arc::new(listen)).expect("a listener");
        tab.enable_runtime().expect("the runtime's events");
        tab.enable_log().expect("the log's events");
        tab.navigate_to(address).expect("the page");
        tab.wait_until_navigated().expect("the page is there");
        Some(Shown { tab, complaints, _browser: browser, _profile: profile })
    }

    /// What an expression of the page's script is.
    pub(crate) fn ask(&self, expression: &str) -> Value {
        let wrapped = format!("JSON.stringify({expression})");
        let answer = self.tab.evaluate(&wrapped, false).expect(expression).value;
        let text = answer.as_ref().and_then(Value::as_str).unwrap_or("null");
        serde_json::from_str(text).expect("JSON")
    }

    pub(crate) fn count(&self, selector: &str) -> u64 {
        let shown = format!("document.querySelectorAll({selector:?}).length");
        self.ask(&shown).as_u64().expect("a number")
    }

    pub(crate) fn click(&self, selector: &str) {
        self.ask(&format!("document.querySelector({selector:?}).click()"));
    }

    pub(crate) fn text(&self, selector: &str) -> String {
        let text = self.ask(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().unwrap_or_default().to_string()
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&self, expression: &str) {
        for _ in 0..600 {
            if self.ask(expression) == true {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("not true after 30 seconds: {expression}");
    }

    pub(crate) fn no_complaints(&self) {
        let complaints = self.complaints.lock().expect("no panic");
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}

/// How large the window is.
pub(crate) fn size(tab: &Tab, width: u32, height: u32, mobile: bool) {
    let metrics = SetDeviceMetricsOverride {
        width,
        height,
        device_scale_factor: 1.0,
        mobile,
        scale: None,
        screen_width: None,
        screen_height: None,
        position_x: None,
        position_y: None,
        dont_set_visible_size: None,
        screen_orientation: None,
        viewport: None,
        display_feature: None,
        device_posture: None,
    };
    tab.call_method(metrics).expect("a size");
}

/// Light or dark, as the system would say.
pub(crate) fn scheme(tab: &Tab, name: &str) {
    media(tab, None, name);
}

/// What the page is shown on: a screen or, if named so, paper.
pub(crate) fn media(tab: &Tab, media: Option<&str>, scheme: &str) {
    let feature = MediaFeature { name: "prefers-color-scheme".into(), value: scheme.into() };
    let media = media.map(str::to_string);
    tab.call_method(SetEmulatedMedia { media, features: Some(vec![feature]) }).expect("a medium");
}
