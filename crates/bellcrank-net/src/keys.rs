//! Keys: a private certificate authority, certificates for parts and coordinators, and tokens.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use ring::rand::{SecureRandom, SystemRandom};
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use tonic::transport::{Certificate, Identity};

/// Random bytes from the operating system.
pub fn random<const N: usize>() -> [u8; N] {
    let mut out = [0; N];
    SystemRandom::new().fill(&mut out).expect("the system has random numbers");
    out
}

/// Compares a token in a time that does not depend on its content. Its length is not a secret.
pub fn same_token(given: &[u8], right: &[u8]) -> bool {
    let differ = given.iter().zip(right).fold(0u8, |d, (a, b)| black_box(d | (a ^ b)));
    (given.len() == right.len()) & (black_box(differ) == 0)
}

/// Shortest token that is accepted.
const SHORTEST: usize = 16;

/// Reads a token.
pub fn read_token(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("cannot read the token `{}`: {e}", path.display()))?;
    let token = text.trim();
    if token.len() < SHORTEST {
        return Err(format!(
            "the token `{}` has {} characters\nhelp: `bellcrank keys` makes one of 64",
            path.display(),
            token.len()
        ));
    }
    Ok(token.to_string())
}

/// Certificates and keys of a folder.
pub struct Keys {
    pub(crate) authority: String,
    pub(crate) server: Option<(String, String)>,
    client: Option<(String, String)>,
}

impl Keys {
    /// Reads `ca.pem`, and `server.pem` and `client.pem` with their keys where they exist.
    pub fn read(folder: &Path) -> Result<Keys, String> {
        let text = |name: &str| fs::read_to_string(folder.join(name));
        let pair = |name: &str| Some((text(&format!("{name}.pem")).ok()?, text(&format!("{name}.key")).ok()?));
        let authority = text("ca.pem").map_err(|e| {
            let path = folder.join("ca.pem");
            format!("cannot read `{}`: {e}\nhelp: `bellcrank keys DIR` makes keys", path.display())
        })?;
        Ok(Keys { authority, server: pair("server"), client: pair("client") })
    }

    /// The certificate of the authority.
    pub fn authority(&self) -> Certificate {
        Certificate::from_pem(&self.authority)
    }

    /// The identity of a coordinator.
    pub fn client(&self) -> Option<Identity> {
        self.client.as_ref().map(|(pem, key)| Identity::from_pem(pem, key))
    }
}

/// Year, month and day, `years` from now [Hinnant 2013, days from civil].
fn date(years: i32) -> (i32, u8, u8) {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() / 86_400) as i64;
    let z = days + 719_468;
    let (era, day) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let m = (5 * of_year + 2) / 153;
    let month = if m < 10 { m + 3 } else { m - 9 };
    let year = (era * 400 + year + (month <= 2) as i64) as i32;
    // not every year has a 29th of February
    (year + years, month as u8, ((of_year - (153 * m + 2) / 5 + 1) as u8).min(28))
}

fn params(names: &[String], common: &str, years: i32) -> Result<CertificateParams, rcgen::Error> {
    let mut p = CertificateParams::new(names)?;
    let ((y, m, d), (y2, m2, d2)) = (date(0), date(years));
    // clocks of two machines differ
    (p.not_before, p.not_after) = (date_time_ymd(y - 1, m, d), date_time_ymd(y2, m2, d2));
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    p.distinguished_name = name;
    Ok(p)
}

fn authority() -> Result<CertificateParams, rcgen::Error> {
    let mut p = params(&[], "Bellcrank authority", 10)?;
    p.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    p.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(p)
}

/// Makes a folder of keys: an authority (once), certificates of a server for `hosts` and for this machine, of a client,
/// and a token (once). Returns the names of the files that were written.
pub fn make(folder: &Path, hosts: &[String]) -> Result<Vec<&'static str>, String> {
    let failed = |name: &str, e: std::io::Error| format!("cannot write `{}`: {e}", folder.join(name).display());
    let wrong = |e: rcgen::Error| format!("cannot make keys: {e}\nhelp: --host takes names and addresses");
    fs::create_dir_all(folder).map_err(|e| failed("", e))?;
    let mut written = Vec::new();
    let mut put = |name: &'static str, text: &str| {
        written.push(name);
        write_secret(&folder.join(name), text).map_err(|e| failed(name, e))
    };
    let key = match fs::read_to_string(folder.join("ca.key")) {
        Ok(pem) => KeyPair::from_pem(&pem).map_err(wrong)?,
        Err(_) => {
            let key = KeyPair::generate().map_err(wrong)?;
            put("ca.key", &key.serialize_pem())?;
            put("ca.pem", &authority().and_then(|a| a.self_signed(&key)).map_err(wrong)?.pem())?;
            key
        }
    };
    let issuer = Issuer::new(authority().map_err(wrong)?, key);
    let here = ["localhost", "127.0.0.1", "::1"].map(str::to_string);
    let all: Vec<String> = here.iter().chain(hosts).cloned().collect();
    for (pem, secret, names, use_) in [
        ("server.pem", "server.key", &all[..], ExtendedKeyUsagePurpose::ServerAuth),
        ("client.pem", "client.key", &[], ExtendedKeyUsagePurpose::ClientAuth),
    ] {
        let own = KeyPair::generate().map_err(wrong)?;
        let mut p = params(names, pem.trim_end_matches(".pem"), 2).map_err(wrong)?;
        p.extended_key_usages = vec![use_];
        p.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        p.use_authority_key_identifier_extension = true;
        put(pem, &p.signed_by(&own, &issuer).map_err(wrong)?.pem())?;
        put(secret, &own.serialize_pem())?;
    }
    if !folder.join("token").exists() {
        put("token", &format!("{}\n", crate::wire::hex(&random::<32>())))?;
    }
    Ok(written)
}

/// Writes a file that only its owner can read.
fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_the_same_or_not() {
        assert!(same_token(b"abc", b"abc"));
        for wrong in [&b"abd"[..], b"ab", b"abcd", b"", b"xbc"] {
            assert!(!same_token(wrong, b"abc"));
        }
    }

    #[test]
    fn dates_are_dates() {
        let (y, m, d) = date(0);
        assert!(y > 2023 && (1..=12).contains(&m) && (1..=28).contains(&d));
        assert_eq!(date(2).0, y + 2);
    }
}
