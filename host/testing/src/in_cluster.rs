//! Makes a process believe that it runs in a pod: the ServiceAccount's files at their well-known place, and the variables.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// How a process gets the ServiceAccount's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mounting {
    /// At their well-known place, in a mount namespace of the process's own: exactly as in a pod.
    Private,
    /// The same, in a user namespace too, since this process is not root; it looks like root to itself.
    PrivateAsUser,
    /// Not at all, since this system allows no mount namespaces: in a kubeconfig that holds the token and nothing else.
    Kubeconfig,
}

impl Mounting {
    /// The best that this system allows, found by trying.
    fn possible() -> Self {
        let works = |options: &[&str]| {
            let mut unshare = Command::new("unshare");
            unshare
                .args(options)
                .args(["--mount", "sh", "-c", "mount -t tmpfs windlass /var/run"]);
            let status = unshare
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            status.is_ok_and(|status| status.success())
        };
        if works(&[]) {
            Self::Private
        } else if works(&["--map-root-user"]) {
            Self::PrivateAsUser
        } else {
            Self::Kubeconfig
        }
    }
}

/// The files and variables of a pod of one ServiceAccount.
///
/// A process started with it has that account's token, the cluster's address and its authority, and no other way in:
/// no kubeconfig, and a home folder without one. With RBAC on this shows whether the shipped roles suffice.
#[derive(Debug, Clone)]
pub struct InClusterEnvironment {
    directory: PathBuf,
    host: String,
    port: String,
    mounting: Mounting,
}

impl InClusterEnvironment {
    /// Writes the files; `server` is the address of the API server as in a kubeconfig.
    pub(crate) fn prepare(
        directory: &Path,
        server: &str,
        authority: &str,
        namespace: &str,
        token: &str,
    ) -> Result<Self> {
        let (host, port) = server
            .strip_prefix("https://")
            .and_then(|address| address.rsplit_once(':'))
            .with_context(|| format!("{server} is not an address of the form https://host:port"))?;
        let directory = std::path::absolute(directory)?;
        let files = directory.join("serviceaccount");
        fs::create_dir_all(&files).with_context(|| format!("making {}", files.display()))?;
        fs::create_dir_all(directory.join("home"))?;
        fs::write(files.join("token"), token)?;
        fs::write(files.join("ca.crt"), authority)?;
        fs::write(files.join("namespace"), namespace)?;
        fs::write(directory.join("kubeconfig"), kubeconfig(&files, server, namespace))?;
        Ok(Self {
            host: host.to_owned(),
            port: port.to_owned(),
            directory,
            mounting: Mounting::possible(),
        })
    }

    /// The same account by another way in, such as a fault proxy that has the certificate of the API server. Files of its own
    /// go into `directory`.
    ///
    /// # Errors
    /// When the files cannot be copied, or the address is not of the form `https://host:port`.
    pub fn by_way_of(&self, server: &str, directory: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = self.files().join(name);
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
        };
        Self::prepare(
            directory,
            server,
            &read("ca.crt")?,
            &read("namespace")?,
            &read("token")?,
        )
    }

    /// Where the ServiceAccount's files come from in processes started with this.
    #[must_use]
    pub fn mounting(&self) -> Mounting {
        self.mounting
    }

    /// The folder that holds `token`, `ca.crt` and `namespace`; a token written there is what the process reads next.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.directory.join("serviceaccount")
    }

    /// A kubeconfig with the account's token and nothing else, for programs that do not look for a pod's files.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// The variables of a process started with this; to be set after `KUBECONFIG` has been removed.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        // A kubeconfig in the home folder would be preferred to the files of the ServiceAccount.
        let mut variables = vec![("HOME", self.directory.join("home").display().to_string())];
        match self.mounting {
            Mounting::Private | Mounting::PrivateAsUser => {
                variables.push(("KUBERNETES_SERVICE_HOST", self.host.clone()));
                variables.push(("KUBERNETES_SERVICE_PORT", self.port.clone()));
            }
            Mounting::Kubeconfig => {
                variables.push(("KUBECONFIG", self.kubeconfig().display().to_string()));
            }
        }
        variables
    }

    /// The words to put before a command line; each replaces itself by the next, so the process id stays.
    #[must_use]
    pub fn prefix(&self) -> Vec<String> {
        // A tmpfs first: the place need not exist on this system, and is not made there.
        let script = "mount -t tmpfs windlass /var/run && d=/var/run/secrets/kubernetes.io/serviceaccount && \
                      mkdir -p $d && mount --bind \"$1\" $d && shift && exec \"$@\"";
        let unshare: &[&str] = match self.mounting {
            Mounting::Private => &["unshare", "--mount"],
            Mounting::PrivateAsUser => &["unshare", "--map-root-user", "--mount"],
            Mounting::Kubeconfig => return Vec::new(),
        };
        let files = self.files().display().to_string();
        unshare
            .iter()
            .chain(&["sh", "-c", script, "sh", &files])
            .map(|word| (*word).to_owned())
            .collect()
    }
}

/// JSON is YAML too, and quotes whatever a path may hold.
fn kubeconfig(files: &Path, server: &str, namespace: &str) -> String {
    serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": server, "certificate-authority": files.join("ca.crt")}}],
        "users": [{"name": "account", "user": {"tokenFile": files.join("token")}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "account", "namespace": namespace}}],
        "current-context": "local",
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(directory: &Path, mounting: Mounting) -> InClusterEnvironment {
        let prepared =
            InClusterEnvironment::prepare(directory, "https://127.0.0.1:6443", "authority", "somewhere", "secret");
        InClusterEnvironment {
            mounting,
            ..prepared.unwrap()
        }
    }

    #[test]
    fn a_private_mount_shows_the_files_at_their_well_known_place() {
        let directory = tempfile::tempdir().unwrap();
        let mounting = Mounting::possible();
        if mounting == Mounting::Kubeconfig {
            eprintln!("left out: this system allows no mount namespaces");
            return;
        }
        let environment = environment(directory.path(), mounting);
        let prefix = environment.prefix();
        let output = Command::new(&prefix[0])
            .args(&prefix[1..])
            .args([
                "sh",
                "-c",
                "cd /var/run/secrets/kubernetes.io/serviceaccount && cat token ca.crt namespace",
            ])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "secretauthoritysomewhere",
            "{output:?}"
        );
        let variables = environment.variables();
        assert!(
            variables.contains(&("KUBERNETES_SERVICE_PORT", "6443".to_owned())),
            "{variables:?}"
        );
        assert!(!Path::new("/var/run/secrets/kubernetes.io/serviceaccount/namespace").exists());
    }

    #[test]
    fn without_mounts_the_kubeconfig_holds_only_the_token() {
        let directory = tempfile::tempdir().unwrap();
        let environment = environment(directory.path(), Mounting::Kubeconfig);
        assert!(environment.prefix().is_empty());
        let variables = environment.variables();
        let (_, path) = variables.iter().find(|(name, _)| *name == "KUBECONFIG").unwrap();
        let config = kube::config::Kubeconfig::read_from(path).unwrap();
        let user = config.auth_infos[0].auth_info.as_ref().unwrap();
        assert_eq!(fs::read_to_string(user.token_file.as_ref().unwrap()).unwrap(), "secret");
    }

    #[test]
    fn an_address_without_a_port_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let error = InClusterEnvironment::prepare(directory.path(), "https://there", "", "", "").unwrap_err();
        assert!(error.to_string().contains("https://there"));
    }
}
