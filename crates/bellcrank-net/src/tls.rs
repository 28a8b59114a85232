//! TLS: the configuration of a server, and what is wrong with keys in words.

use crate::keys::Keys;
use std::error::Error;
use std::io;
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{self, AlertDescription, CertificateError, RootCertStore, ServerConfig};

/// The configuration of a server; with `mutual`, coordinators need a certificate of the same authority.
pub(crate) fn server_config(keys: &Keys, mutual: bool) -> Result<ServerConfig, String> {
    let unusable = |e: &dyn Error| format!("the keys cannot be used: {e}");
    let (pem, key) = keys.server.as_ref().ok_or("the keys have no server.pem with server.key")?;
    let certificates = |pem: &str| CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    let own = certificates(pem).map_err(|e| unusable(&e))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|e| unusable(&e))?;
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().map_err(|e| unusable(&e))?;
    let builder = if mutual {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates(&keys.authority).map_err(|e| unusable(&e))?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
        builder.with_client_cert_verifier(verifier.map_err(|e| unusable(&e))?)
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_single_cert(own, key).map_err(|e| unusable(&e))?;
    config.alpn_protocols.push(b"h2".to_vec());
    Ok(config)
}

/// What to do about keys of two authorities.
const SAME_FOLDER: &str =
    "help: both ends need keys of one folder that `bellcrank keys` made, or of the same ca.pem and ca.key";
/// What to do about keys that are too old.
const NEW_KEYS: &str = "help: `bellcrank keys DIR`, where the ca.key is, makes new ones for two years";

/// What to do about TLS at one end alone.
const BOTH_ENDS: &str = "help: use https:// and --tls on both ends, or on none";
/// What a server with TLS says to those who do without.
pub(crate) const NEEDS_TLS: &str = "this part uses TLS";
/// The first byte of a connection with TLS.
pub(crate) const HANDSHAKE_RECORD: u8 = 22;

/// TLS at the other end, and not at this one.
pub(crate) fn uses(other: &str) -> String {
    format!("the {other} uses TLS, and this end does not\n{BOTH_ENDS}")
}

/// The end of a connection without TLS, as HTTP/2 has it: settings, and a GOAWAY (INADEQUATE_SECURITY) with a text [RFC 9113].
pub(crate) fn plain_farewell(text: &str) -> Vec<u8> {
    let mut out = vec![0, 0, 0, 4, 0, 0, 0, 0, 0];
    out.extend([0, 0, 8 + text.len() as u8, 7, 0, 0, 0, 0, 0]);
    out.extend([0, 0, 0, 0, 0, 0, 0, 0xc]);
    out.extend(text.as_bytes());
    out
}

/// What is wrong with keys, if that is what an error is about; `other` is who is at the other end.
pub(crate) fn in_words(e: &(dyn Error + 'static), other: &str) -> Option<String> {
    let mut cause = Some(e);
    while let Some(e) = cause {
        if e.to_string().contains(NEEDS_TLS) {
            return Some(uses(other));
        }
        let of_itself = e.downcast_ref::<rustls::Error>().and_then(|e| of_rustls(e, other));
        if let Some(words) = of_itself.or_else(|| of_alert(named_alert(&e.to_string())?, other)) {
            return Some(words);
        }
        // the source of an I/O error is the source of what it wraps
        let wrapped = e.downcast_ref::<io::Error>().and_then(|e| e.get_ref());
        cause = wrapped.map(|e| e as &(dyn Error + 'static)).or(e.source());
    }
    None
}

fn of_rustls(e: &rustls::Error, other: &str) -> Option<String> {
    use rustls::Error::{AlertReceived, InvalidCertificate, InvalidMessage, NoCertificatesPresented};
    Some(match e {
        InvalidCertificate(why) => format!("the certificate of the {other} {}", of_certificate(why)),
        NoCertificatesPresented => format!(
            "the {other} showed no certificate\nhelp: its --tls needs a folder with client.pem and client.key, made by `bellcrank keys`"
        ),
        AlertReceived(alert) => of_alert(*alert, other)?,
        InvalidMessage(_) => {
            format!("the {other} does not use TLS\n{BOTH_ENDS}")
        }
        _ => return None,
    })
}

fn of_certificate(why: &CertificateError) -> String {
    use CertificateError as C;
    match why {
        C::Expired | C::ExpiredContext { .. } => format!("has expired{}\n{NEW_KEYS}", days_ago(why)),
        C::NotValidYet | C::NotValidYetContext { .. } => {
            "is not valid yet\nhelp: one of the two machines has a wrong clock".into()
        }
        C::UnknownIssuer | C::BadSignature => format!("was made by another authority than ca.pem here\n{SAME_FOLDER}"),
        C::NotValidForName | C::NotValidForNameContext { .. } => {
            "is not for this host\nhelp: `bellcrank keys DIR --host HOST` makes one for the name or address by which it is reached"
                .into()
        }
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            "is for the other end: servers need server.pem, coordinators client.pem".into()
        }
        other => format!("is not accepted: {other}"),
    }
}

/// How long ago a certificate expired.
fn days_ago(why: &CertificateError) -> String {
    let CertificateError::ExpiredContext { time, not_after } = why else { return String::new() };
    match time.as_secs().saturating_sub(not_after.as_secs()) / 86_400 {
        0 => " today".into(),
        1 => " a day ago".into(),
        days => format!(" {days} days ago"),
    }
}

/// The alert that a text speaks of: HTTP/2 keeps the words of an error alone.
fn named_alert(text: &str) -> Option<AlertDescription> {
    let (_, name) = text.split_once("received fatal alert: ")?;
    (0..=255).map(AlertDescription::from).find(|alert| name.starts_with(&format!("{alert:?}")))
}

/// What the other end says of us.
fn of_alert(alert: AlertDescription, other: &str) -> Option<String> {
    use AlertDescription as A;
    let refused = |why: &str| format!("the {other} refuses the certificate that it was shown: {why}");
    Some(match alert {
        A::UnknownCA | A::DecryptError => {
            refused(&format!("it was made by another authority than the ca.pem of the {other}\n{SAME_FOLDER}"))
        }
        A::CertificateExpired => refused(&format!("it has expired, or is not valid yet\n{NEW_KEYS}")),
        A::CertificateRequired => format!(
            "the {other} asks for a certificate, and none was shown\nhelp: --tls needs a folder with client.pem and client.key, made by `bellcrank keys`"
        ),
        A::UnsupportedCertificate => {
            refused("it is for the other end: servers need server.pem, coordinators client.pem")
        }
        A::BadCertificate | A::CertificateUnknown | A::CertificateRevoked | A::AccessDenied => {
            refused("it may be for another host or another purpose")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of rustls may change; then this says so.
    #[test]
    fn an_alert_is_known_by_its_words_too() {
        let e = rustls::Error::AlertReceived(AlertDescription::UnknownCA);
        let (plain, words) =
            (in_words(&e, "part"), in_words(&io::Error::other(format!("connection error: {e}")), "part"));
        assert!(
            plain.as_ref().is_some_and(|w| w.contains("another authority than the ca.pem of the part")),
            "{plain:?}"
        );
        assert_eq!(plain, words);
        assert_eq!(in_words(&io::Error::other("connection refused"), "part"), None);
    }
}
