//! Prints the ServiceAccount and the roles that a module needs, from its own word alone.

mod objects;

use super::module::ModuleArguments;
use super::progress::say;
use super::{Output, files};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use windlass_core::manifest::Manifest;
use windlass_core::names::ANNOTATION_CONSENT;
use windlass_core::rights;
use windlass_core::syntax;

/// Prints the ServiceAccount and the roles that a module needs, as YAML to read and to apply
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass rbac nginx.wasm --name nginx | kubectl apply --server-side -f -
  windlass rbac nginx.wasm --name nginx --namespace team-a --for-namespace team-a
  windlass rbac old.wasm new.wasm               the difference between two versions
  windlass rbac --use nginx --user alice | kubectl apply --server-side -f -
                                                lets alice write Reconcilers with that account, and drop modules in for it")]
pub(super) struct RbacArguments {
    /// The module: a component, or a core module that carries the contract; plain, gzip or zstd. Of two the difference
    #[arg(num_args = 1..=2, required_unless_present = "account_to_use", value_name = "MODULE")]
    modules: Vec<PathBuf>,
    /// What the module is told, a YAML map
    #[arg(long)]
    settings: Option<PathBuf>,
    /// Name of the Reconciler and of its ServiceAccount; the module's own name if left out
    #[arg(long, value_parser = super::reconciler_name)]
    name: Option<String>,
    /// ServiceAccount, where it is not named as the Reconciler is
    #[arg(long, value_parser = account_name)]
    service_account: Option<String>,
    /// Namespace of the Reconciler
    #[arg(short, long, default_value = "windlass-system", value_parser = namespace_name)]
    namespace: String,
    /// Only for primaries in this namespace, can be given several times; the whole cluster if left out
    #[arg(long = "for-namespace", value_parser = namespace_name)]
    for_namespaces: Vec<String>,
    /// Namespace of the host
    #[arg(long, default_value = "windlass-system", value_parser = namespace_name)]
    host_namespace: String,
    /// ServiceAccount of the host
    #[arg(long, default_value = "windlass", value_parser = account_name)]
    host_service_account: String,
    /// Prints instead what lets somebody use this ServiceAccount in Reconcilers and for drop-ins
    #[arg(long = "use", id = "account_to_use", value_name = "SERVICE_ACCOUNT", value_parser = account_name,
          requires = "who", conflicts_with = "modules")]
    account_to_use: Option<String>,
    /// Who that is, as the API server names them
    #[arg(long, group = "who", requires = "account_to_use", value_parser = NonEmptyStringValueParser::new())]
    user: Option<String>,
    /// The same for everybody in a group, such as `system:authenticated`
    #[arg(long, group = "who", requires = "account_to_use", value_parser = NonEmptyStringValueParser::new())]
    group: Option<String>,
    /// How it is printed
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

pub(super) async fn rbac(arguments: RbacArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.user.as_deref().map(|user| ("User", user));
    let who = user.or(arguments.group.as_deref().map(|group| ("Group", group)));
    if let (Some(account), Some(who)) = (&arguments.account_to_use, who) {
        print(&arguments, &objects::of_somebody(&arguments.namespace, account, who))?;
    } else if let [old, new] = arguments.modules.as_slice() {
        let (before, after) = (manifest(&arguments, old).await?, manifest(&arguments, new).await?);
        super::print(&difference(&before, &after, arguments.output)?)?;
    } else if let [module] = arguments.modules.as_slice() {
        let manifest = manifest(&arguments, module).await?;
        let name = arguments.name.clone().unwrap_or_else(|| manifest.name.clone());
        let parties = objects::Parties {
            account: arguments.service_account.clone().unwrap_or_else(|| name.clone()),
            name,
            namespace: arguments.namespace.clone(),
            host: (arguments.host_namespace.clone(), arguments.host_service_account.clone()),
        };
        if parties.account != parties.name {
            say(&format!(
                "ServiceAccount {} consents to Reconciler {} alone by this; where others run as it too, name them all in its \
                 annotation {ANNOTATION_CONSENT}, with commas between",
                parties.account, parties.name
            ));
        }
        print(
            &arguments,
            &objects::of_a_module(&parties, &manifest, &arguments.for_namespaces),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn manifest(arguments: &RbacArguments, module: &Path) -> anyhow::Result<Manifest> {
    let module = ModuleArguments::new(module.into(), arguments.settings.clone());
    Ok(module.open().await?.manifest)
}

/// One after the other, or as a `List`.
fn print(arguments: &RbacArguments, objects: &[Value]) -> anyhow::Result<()> {
    let text = match arguments.output {
        Output::Text => {
            let documents: Vec<String> = objects.iter().map(files::yaml).collect::<anyhow::Result<_>>()?;
            documents.join("---\n")
        }
        Output::Json => pretty(&json!({"apiVersion": "v1", "kind": "List", "items": objects}))?,
    };
    super::print(&text)
}

/// Which rights go and which come, and what an approval of the new ones names.
fn difference(before: &Manifest, after: &Manifest, output: Output) -> anyhow::Result<String> {
    let (removed, added) = rights::difference(&rights::rules(before), &rights::rules(after));
    if let Output::Json = output {
        let hash = rights::rights_hash(after);
        return pretty(&json!({"removed": removed, "added": added, "rightsHash": hash}));
    }
    if removed.is_empty() && added.is_empty() {
        return Ok("both need the same rights\n".into());
    }
    let line = |sign: char| move |right: &String| format!("{sign} {right}\n");
    Ok(removed
        .iter()
        .map(line('-'))
        .chain(added.iter().map(line('+')))
        .collect())
}

fn pretty(value: &Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn namespace_name(text: &str) -> Result<String, String> {
    syntax::dns_label(text).map_err(|rule| format!("the name of a namespace {rule}"))?;
    Ok(text.into())
}

fn account_name(text: &str) -> Result<String, String> {
    syntax::subdomain(text).map_err(|rule| format!("the name of a ServiceAccount {rule}"))?;
    Ok(text.into())
}
