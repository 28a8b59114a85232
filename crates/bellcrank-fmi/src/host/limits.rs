//! What keeps the process of an FMU within bounds.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// The socket that came as standard input, out of the way of the FMU: what it reads there is nothing.
pub fn take_standard_input() -> io::Result<UnixStream> {
    // SAFETY: plain calls on descriptors of this process; the new one is owned by nobody else.
    let stream = unsafe {
        let copy = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3);
        if copy < 0 {
            return Err(io::Error::last_os_error());
        }
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
        if nothing >= 0 {
            libc::dup2(nothing, 0);
        }
        // the run decides what an interrupt means
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        UnixStream::from_raw_fd(copy)
    };
    stream.peer_addr()?;
    Ok(stream)
}

/// Ends this process, whatever the FMU is doing, when the other end of the socket is gone.
pub fn watch(wire: &UnixStream, folder: PathBuf) {
    let socket = wire.as_raw_fd();
    std::thread::spawn(move || {
        let mut watched = libc::pollfd { fd: socket, events: 0, revents: 0 };
        loop {
            // SAFETY: one descriptor, which lives as long as the process.
            let found = unsafe { libc::poll(&mut watched, 1, -1) };
            if found > 0 && watched.revents != 0 {
                let _ = std::fs::remove_dir_all(&folder);
                // SAFETY: ends the process without the FMU's own functions, which may hang.
                unsafe { libc::_exit(0) }
            }
        }
    });
}

/// Lets the process take so many bytes more than it has, and leave no image of itself when it crashes.
pub fn of_memory(bytes: u64) -> Result<(), String> {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = pages.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    // SAFETY: plain calls with values of their own.
    unsafe {
        let page = u64::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
        let most = pages.saturating_mul(page).saturating_add(bytes);
        for (what, most) in [(libc::RLIMIT_AS, most), (libc::RLIMIT_CORE, 0)] {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::getrlimit(what, &mut limit);
            limit.rlim_cur = (most as libc::rlim_t).min(limit.rlim_max);
            if libc::setrlimit(what, &limit) != 0 && what == libc::RLIMIT_AS && pages > 0 {
                return Err(format!("cannot be limited in memory: {}", io::Error::last_os_error()));
            }
        }
    }
    Ok(())
}
