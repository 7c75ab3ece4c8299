//! Which file of a crate uses which, as far as `use` and paths in the text show.

use std::collections::{BTreeMap, BTreeSet};

use super::sources;

/// A crate's modules, each a file, by their path from the root (which is empty).
struct Crate {
    modules: BTreeMap<Vec<String>, Module>,
}

struct Module {
    file: String,
    /// What it imports or exports again under which name.
    uses: BTreeMap<String, Vec<String>>,
    /// Every path in it, from the crate's root.
    paths: BTreeSet<Vec<String>>,
}

/// What a path leads to.
struct Found {
    module: Vec<String>,
    /// The modules through whose `use` it went.
    through: Vec<Vec<String>>,
}

impl Crate {
    /// From the files below `src/`, each with its text, without tests.
    fn of<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Crate {
        let mut texts = BTreeMap::new();
        for (file, text) in files {
            let mut module: Vec<String> =
                file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            if matches!(module.last().map(String::as_str), Some("lib" | "main" | "mod")) {
                module.pop();
            }
            texts.insert(module, (file, without_tests(text)));
        }
        let names: BTreeSet<Vec<String>> = texts.keys().cloned().collect();
        let modules = texts.into_iter().map(|(name, (file, text))| {
            let (uses, paths) = read(&text, &name, &names);
            (name, Module { file: file.to_owned(), uses, paths })
        });
        Crate { modules: modules.collect() }
    }

    fn find(&self, path: &[String]) -> Found {
        let mut found = Found { module: Vec::new(), through: Vec::new() };
        let mut path = path.to_vec();
        // No re-export goes through more than a few others.
        for _ in 0..8 {
            found.module.clear();
            let mut rest = path.as_slice();
            while let [next, others @ ..] = rest {
                let child: Vec<_> = found.module.iter().chain([next]).cloned().collect();
                if !self.modules.contains_key(&child) {
                    break;
                }
                (found.module, rest) = (child, others);
            }
            let used = rest.first().and_then(|name| self.modules.get(&found.module)?.uses.get(name));
            let Some(used) = used.filter(|used| **used != path) else { break };
            found.through.push(found.module.clone());
            path = used.iter().chain(&rest[1..]).cloned().collect();
        }
        found
    }

    /// Files that import a name which a module above them only exports again.
    fn upward(&self) -> Vec<String> {
        let mut upward = BTreeSet::new();
        for (name, module) in &self.modules {
            for path in &module.paths {
                let above = |through: &&Vec<String>| through.len() < name.len() && name.starts_with(through);
                if let Some(through) = self.find(path).through.iter().find(above) {
                    let by = &self.modules[through].file;
                    upward.insert(format!("{}: crate::{} by way of {by}", module.file, path.join("::")));
                }
            }
        }
        upward.into_iter().collect()
    }

    /// Sets of files that import each other in a circle; a module and those within it may.
    fn circles(&self) -> Vec<Vec<String>> {
        let mut uses: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
        for (name, module) in &self.modules {
            let used = module.paths.iter().map(|path| self.find(path).module);
            let related = |other: &Vec<String>| name.starts_with(other) || other.starts_with(name);
            uses.insert(name, used.filter(|other| !related(other)).collect());
        }
        let reached = |from: &Vec<String>| {
            let mut reached = BTreeSet::new();
            let mut next: Vec<_> = uses[from].iter().collect();
            while let Some(one) = next.pop() {
                if reached.insert(one.clone()) {
                    next.extend(uses.get(one).into_iter().flatten());
                }
            }
            reached
        };
        let reached: BTreeMap<_, _> = uses.keys().map(|name| (*name, reached(name))).collect();
        let mut circles = BTreeSet::new();
        for (name, far) in &reached {
            let mutual = far.iter().filter(|other| reached.get(other).is_some_and(|of| of.contains(*name)));
            let circle: Vec<_> = mutual.map(|name| self.modules[name].file.clone()).collect();
            if !circle.is_empty() {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }
}

/// The code alone: neither comments nor the tests at the end.
fn without_tests(text: &str) -> String {
    let code = ["mod tests {", "pub(crate) mod tests {"]
        .iter()
        .fold(text, |text, tests| text.split(&format!("#[cfg(test)]\n{tests}")).next().unwrap_or(text));
    code.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

type Uses = BTreeMap<String, Vec<String>>;

/// What a file imports, by name, and every path in it that lies in the crate.
fn read(text: &str, module: &[String], names: &BTreeSet<Vec<String>>) -> (Uses, BTreeSet<Vec<String>>) {
    let (mut uses, mut paths) = (Uses::new(), BTreeSet::new());
    let mut statements = Vec::new();
    for (at, _) in text.match_indices("use ") {
        if text[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && before != '_')
            && let Some(end) = text[at..].find(';')
        {
            statements.push(&text[at + 4..at + end]);
        }
    }
    for statement in statements {
        for (path, name) in expand(statement) {
            if let Some(path) = absolute(path, module, names) {
                uses.insert(name, path.clone());
                paths.insert(path);
            }
        }
    }
    // Paths within expressions and types.
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        let path: Vec<String> = word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        if path.len() > 1 && word.contains("::") {
            let imported = uses.get(&path[0]).map(|of| of.iter().chain(&path[1..]).cloned().collect());
            let path = imported.or_else(|| absolute(path, module, names));
            paths.extend(path.filter(|path| !path.is_empty()));
        }
    }
    (uses, paths)
}

/// The paths of a `use`, each with the name that it gets.
fn expand(tree: &str) -> Vec<(Vec<String>, String)> {
    let tree = tree.trim();
    let Some((before, inside)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path: Vec<String> = path.trim().split("::").map(|part| part.trim().to_owned()).collect();
        let name =
            if name.is_empty() { path.last().cloned().unwrap_or_default() } else { name.trim().into() };
        return vec![(path, name)];
    };
    let inside = inside.strip_suffix('}').unwrap_or(inside);
    let before: Vec<String> =
        before.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
    let (mut all, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                for (path, name) in expand(&inside[start..at]) {
                    let own = path.first().is_some_and(|first| first == "self");
                    let name = if own { before.last().cloned().unwrap_or_default() } else { name };
                    let path = path.into_iter().skip(usize::from(own));
                    all.push((before.iter().cloned().chain(path).collect(), name));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    all.retain(|(_, name)| !name.is_empty());
    all
}

/// A path from the crate's root; `None` where it lies outside of the crate.
fn absolute(path: Vec<String>, module: &[String], names: &BTreeSet<Vec<String>>) -> Option<Vec<String>> {
    let (mut base, mut rest) = (module.to_vec(), path.as_slice());
    match rest.first()?.as_str() {
        "crate" => (base, rest) = (Vec::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        child => {
            base.push(child.to_owned());
            if !names.contains(&base) {
                return None;
            }
            rest = &rest[1..];
        }
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// Files in import circles, and imports by way of a module above, that crates may still have. To become empty.
const STILL: [(&str, usize, usize); 0] = [];

#[test]
fn files_import_each_other_in_one_direction() {
    let sources = sources();
    let mut crates: Vec<&str> = sources.iter().filter_map(|(file, _)| file.split('/').nth(1)).collect();
    crates.dedup();
    crates.sort_unstable();
    crates.dedup();
    let mut wrong = Vec::new();
    for name in crates {
        let folder = format!("crates/{name}/src/");
        let files =
            sources.iter().filter_map(|(file, text)| Some((file.strip_prefix(&folder)?, text.as_str())));
        let is_code = |file: &str| !file.split('/').any(|part| matches!(part, "tests.rs" | "tests" | "bin"));
        let of = Crate::of(files.filter(|(file, _)| is_code(file)));
        let (circles, upward) = (of.circles(), of.upward());
        let still = STILL.iter().find(|(of, ..)| *of == name);
        let (files, arrows) = still.map_or((0, 0), |(_, files, arrows)| (*files, *arrows));
        let in_circles: usize = circles.iter().map(Vec::len).sum();
        if in_circles > files {
            let circles: Vec<_> = circles.iter().map(|circle| circle.join(", ")).collect();
            wrong.push(format!(
                "{name}: {in_circles} files import each other in circles (allowed: {files}):\n  {}",
                circles.join("\n  ")
            ));
        }
        if upward.len() > arrows {
            wrong.push(format!("{name}: {} imports by way of a module above (allowed: {arrows}); name where it is defined:\n  {}", upward.len(), upward.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_import_check_finds_circles_and_ways_through_the_root() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::B;\n"),
        ("a.rs", "use crate::B;\nuse crate::c::C;\n"),
        (
            "b.rs",
            "//! Not `crate::c::D`.\nuse crate::a::{self, A as Other};\n#[cfg(test)]\nmod tests {\n use super::*;\n}",
        ),
        ("c/mod.rs", "mod d;\npub(crate) use d::D;\npub struct C(d::D);\n"),
        ("c/d.rs", "use super::C;\n"),
        ("c/e.rs", "use super::{D, C};\n"),
    ];
    let found = Crate::of(files.into_iter());
    assert_eq!(found.circles(), [["a.rs", "b.rs"]]);
    assert_eq!(found.upward(), ["a.rs: crate::B by way of lib.rs", "c/e.rs: crate::c::D by way of c/mod.rs"]);
}
