//! `bellcrank serve PART`, `bellcrank keys DIR`, and how `glue` reaches parts.

use crate::cli::digest::digests;
use crate::cli::{Failure, print, signals, tell};
use bellcrank_glue::{Remote, RemoteEntry, read_part_model};
use bellcrank_model::file::bounded;
use bellcrank_net::keys::{make, read_token};
use bellcrank_net::server::runtime;
use bellcrank_net::{
    AccessPolicy, Address, GrpcLink, Keys, PartOffer, RemotePart, RunRegistry, Server, ServerLimits, Show, StateFolder,
    Timeouts,
};
use clap::Args;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between two looks whether the server is to end.
const LOOK: Duration = Duration::from_millis(50);

/// How remote parts are reached.
#[derive(Args)]
pub struct Reach {
    /// The folder of keys for parts by address: ca.pem, client.pem, client.key (see `bellcrank keys`).
    #[arg(long, value_name = "DIR")]
    tls: Option<PathBuf>,
    /// The file of the token that parts require.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Seconds of silence after which a part is lost.
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    timeout: f64,
}

/// Connects to remote parts.
pub struct Network<'a> {
    reach: &'a Reach,
    timeouts: Timeouts,
}

impl<'a> Network<'a> {
    /// With the options of the command.
    pub fn new(reach: &'a Reach) -> Result<Network<'a>, Failure> {
        let good = reach.timeout.is_finite() && (0.05..=86_400.0).contains(&reach.timeout);
        if !good {
            return Err(Failure::BadInput("--timeout takes seconds, from 0.05 to 86400".into()));
        }
        let timeouts = Timeouts { silence: Duration::from_secs_f64(reach.timeout), ..Timeouts::default() };
        Ok(Network { reach, timeouts })
    }

    /// Connects to a part at its address.
    pub fn connect(&mut self, to: &RemoteEntry) -> Result<Box<dyn Remote>, String> {
        let here = |e: String| format!("part `{}`: {e}", to.part);
        let keys = to.tls.as_ref().or(self.reach.tls.as_ref().filter(|_| to.url.starts_with("https://")));
        let keys = keys.map(|folder| Keys::read(folder)).transpose().map_err(here)?;
        let token = to.token_file.as_ref().or(self.reach.token_file.as_ref());
        let token = token.map(|file| read_token(file)).transpose().map_err(here)?;
        let address = Address::new(&to.url, keys.as_ref(), token.as_deref(), self.timeouts.silence).map_err(here)?;
        let part = RemotePart::connect(&to.part, Box::new(GrpcLink::new(address)), self.timeouts);
        Ok(Box::new(part.map_err(|e| e.to_string())?))
    }
}

/// Options of `serve`.
#[derive(Args)]
pub struct Serve {
    /// The model of the part: its probes are its ports.
    part: PathBuf,
    /// Where to listen. An address other than loopback needs --tls.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7070")]
    listen: String,
    /// The folder of keys: ca.pem, server.pem, server.key (see `bellcrank keys`). Coordinators need a client key, or the token.
    #[arg(long, value_name = "DIR")]
    tls: Option<PathBuf>,
    /// Coordinators need the token in this file, but no key of their own.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The name of the part (default: the name of its file).
    #[arg(long)]
    name: Option<String>,
    /// What others may see besides the motion of ports: channels of ports, or all channels.
    #[arg(long, value_name = "ports|all", default_value = "ports")]
    show: String,
    /// The folder of stored states (default: PART.kept beside the model).
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Prints no messages.
    #[arg(long)]
    quiet: bool,
}

/// How much a served part takes on.
#[derive(Args)]
struct LimitArgs {
    /// Limit of simultaneous runs.
    #[arg(long, default_value_t = ServerLimits::default().runs)]
    runs: usize,
    /// Limit of one message, in megabytes.
    #[arg(long, value_name = "MB", default_value_t = 16)]
    message: usize,
    /// Limit of messages per second and run.
    #[arg(long, default_value_t = ServerLimits::default().rate)]
    rate: f64,
    /// Seconds that one request may take.
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    call: f64,
    /// Seconds after which a run without a connection is discarded; a few seconds if others wait for its place.
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    linger: f64,
}

impl LimitArgs {
    fn limits(&self) -> Result<ServerLimits, Failure> {
        let good = self.rate.is_finite()
            && self.rate >= 1.0
            && [self.linger, self.call].iter().all(|s| *s > 0.0 && *s <= 1e9)
            && self.runs > 0
            && self.message > 0;
        if !good {
            return Err(Failure::BadInput("--runs, --message, --rate, --call and --linger must be positive".into()));
        }
        Ok(ServerLimits {
            runs: self.runs,
            message: self.message << 20,
            rate: self.rate,
            linger: Duration::from_secs_f64(self.linger),
            call: Duration::from_secs_f64(self.call),
            ..ServerLimits::default()
        })
    }
}

/// Serves a part until it is interrupted.
pub fn serve(args: Serve) -> Result<(), Failure> {
    let bad = Failure::BadInput;
    let address = args.listen.to_socket_addrs().ok().and_then(|mut a| a.next());
    let address: SocketAddr = address
        .ok_or_else(|| bad(format!("`{}` is not an address to listen at\nhelp: write HOST:PORT", args.listen)))?;
    let show = match args.show.as_str() {
        "ports" => Show::Ports,
        "all" => Show::All,
        other => return Err(bad(format!("--show takes ports or all, not `{other}`"))),
    };
    let limits = args.limits.limits()?;
    let policy = AccessPolicy {
        mutual: args.tls.is_some() && args.token_file.is_none(),
        keys: args.tls.as_ref().map(|folder| Keys::read(folder)).transpose().map_err(bad)?,
        token: args.token_file.as_ref().map(|file| read_token(file)).transpose().map_err(bad)?,
    };
    policy.check(&address).map_err(bad)?;
    let stem = args.part.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let name = args.name.unwrap_or(stem);
    let (part, files) = bounded::noting(|| read_part_model(&name, &args.part));
    let part = part.map_err(bad)?;
    let mut text = bounded::read(&args.part, bounded::LARGEST)
        .map_err(|e| bad(format!("cannot read `{}`: {e}", args.part.display())))?;
    // tables and meshes are part of the model, too
    for (file, sum) in digests(&args.part.to_string_lossy(), &files) {
        text.extend(format!("\n{file} {sum}").into_bytes());
    }
    let path = args.keep.unwrap_or_else(|| args.part.with_extension("kept"));
    let offer = Arc::new(PartOffer::new(part, &text, show));
    let ports = offer.ports().join(", ");
    let store = Arc::new(StateFolder::new(path, 4 * limits.runs));
    let registry = Arc::new(RunRegistry::new(offer, store, limits));
    let runtime = runtime().map_err(Failure::Failed)?;
    let scheme = if policy.keys.is_some() { "https" } else { "http" };
    let who = match (&policy.keys, policy.mutual, &policy.token) {
        (_, true, _) => "coordinators need a client key",
        (_, _, Some(_)) => "coordinators need the token",
        _ => "this machine only",
    };
    runtime.block_on(async {
        let server = Server::bind(address, registry, policy).map_err(Failure::Failed)?;
        // stdout gets the address alone, for scripts: the system may have chosen the port
        print(&format!("{scheme}://{}", server.address()))?;
        tell(&format!("serves part `{name}` with the ports {ports}; {who}"));
        let stop = Arc::new(AtomicBool::new(false));
        signals::set(&stop, 1);
        let quiet = args.quiet;
        let log = Arc::new(move |text: &str| {
            if !quiet {
                tell(text)
            }
        });
        let stopped = async {
            while !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            ended = server.serve(log, std::future::pending()) => ended.map_err(Failure::Failed),
            () = stopped => Ok(()),
        }
    })
}

/// Options of `keys`.
#[derive(Args)]
pub struct MakeKeys {
    /// The folder to write to. An existing authority and an existing token are kept.
    folder: PathBuf,
    /// A name or address of a machine with parts; may be repeated. This machine is always included.
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
}

/// Makes keys.
pub fn keys(args: MakeKeys) -> Result<(), Failure> {
    let files = make(&args.folder, &args.host).map_err(Failure::BadInput)?;
    tell(&format!("{}: {}", args.folder.display(), files.join(", ")));
    tell(
        "a part needs ca.pem, server.pem, server.key; the coordinator ca.pem, client.pem, client.key; with --token-file also token",
    );
    tell("ca.key can make more keys: keep it private");
    Ok(())
}
