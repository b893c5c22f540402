//! `sluice server`.

use crate::output::Output;
use crate::words::Words;
use sluice_base::Result;
use sluice_server::{Config, Server};
use std::path::Path;

pub(crate) fn serve(words: &Words, out: &mut Output) -> Result<()> {
    let overrides = words.settings()?.into_iter().collect();
    let config = Config::load(words.value("--config").map(Path::new), &overrides)?;
    sluice_server::serve(&config, |server| {
        // Whoever closed the pipe does not want to know.
        let _ = out.write(&greeting(server)).and_then(|()| out.flush());
    })
}

fn greeting(server: &Server) -> String {
    let page = server.http_address().map_or_else(String::new, |address| format!("its page: http://{address}/\n"));
    let restored = match server.restored() {
        true => "its tables were brought back from 'remote.data.dir'; 'remote.restore' has no effect from now on\n",
        false => "",
    };
    format!("{restored}sluice server is ready at {} (process {})\n{page}", server.advertised(), std::process::id())
}
