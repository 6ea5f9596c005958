//! The dynamic scope: which resources were entered on the way to a schema.
//!
//! A `$dynamicRef` to an anchor goes to the outermost of the entered resources that has a dynamic anchor of that name;
//! `$recursiveRef` is the same with an anchor without a name. So of the whole chain only one thing counts: for each
//! name, where it was first seen. Kept as that map a scope is small, and it is interned, so that two ways to a schema
//! that mean the same give the same pair of numbers, and recursion closes.
//!
//! A schema without `$dynamicRef` and `$recursiveRef` has one scope, the empty one, and pays nothing.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::Documents;
use super::draft::Draft;
use super::json::Json;
use super::location::{SchemaId, Step};
use super::resolve::Reference;
use super::resources::ResourceId;
use crate::error::Result;

/// The number of a dynamic scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(u32);

impl ScopeId {
    /// The scope in which no resource with a dynamic anchor was entered.
    pub const EMPTY: ScopeId = ScopeId(0);
}

/// A schema, and the scope that it is seen in: all that its meaning hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Located {
    /// The schema.
    pub schema: SchemaId,
    /// The scope.
    pub scope: ScopeId,
}

/// A dynamic anchor and where it was first seen. `None` is `$recursiveAnchor`.
type Binding<'json> = (Option<&'json str>, SchemaId);

/// All scopes: each one sorted by name.
#[derive(Debug)]
pub(super) struct Scopes<'json> {
    all: Vec<Rc<[Binding<'json>]>>,
    /// By content. Names come from strangers, hence no hash table.
    index: BTreeMap<Rc<[Binding<'json>]>, ScopeId>,
    entered: HashMap<(ScopeId, ResourceId), ScopeId, FxBuildHasher>,
    /// Whether there is any reference that looks at the scope.
    needed: bool,
}

impl<'json> Scopes<'json> {
    pub(super) fn new(needed: bool) -> Self {
        let empty: Rc<[Binding<'json>]> = Rc::new([]);
        let index = BTreeMap::from([(Rc::clone(&empty), ScopeId::EMPTY)]);
        Scopes { all: vec![empty], index, entered: HashMap::default(), needed }
    }

    fn get(&self, id: ScopeId) -> &Rc<[Binding<'json>]> {
        &self.all[id.0 as usize]
    }

    fn lookup(&self, id: ScopeId, name: Option<&str>) -> Option<SchemaId> {
        let bindings = self.get(id);
        let at = bindings.binary_search_by_key(&name, |&(name, _)| name).ok()?;
        Some(bindings[at].1)
    }

    fn intern(&mut self, bindings: Vec<Binding<'json>>) -> ScopeId {
        let bindings: Rc<[Binding<'json>]> = bindings.into();
        if let Some(&id) = self.index.get(&bindings) {
            return id;
        }
        let id = ScopeId(self.all.len() as u32);
        self.all.push(Rc::clone(&bindings));
        self.index.insert(bindings, id);
        id
    }
}

impl<'json> Documents<'json> {
    /// The root schema, in its own scope.
    pub fn start(&mut self) -> Result<Located> {
        self.locate(self.root(), ScopeId::EMPTY)
    }

    /// The same of each of the root schemas.
    pub fn starts(&mut self) -> Result<Vec<Located>> {
        self.roots().into_iter().map(|root| self.locate(root, ScopeId::EMPTY)).collect()
    }

    /// `schema` as it is seen when it is entered from `scope`.
    pub fn locate(&mut self, schema: SchemaId, scope: ScopeId) -> Result<Located> {
        let scope = if self.scopes.needed { self.enter(scope, schema)? } else { ScopeId::EMPTY };
        Ok(Located { schema, scope })
    }

    /// What lies one step below, where there is such a thing.
    pub fn step(&mut self, from: Located, step: Step<'_>) -> Result<Option<Located>> {
        self.child(from.schema, step).map(|schema| self.locate(schema, from.scope)).transpose()
    }

    /// What the `$ref` of `from` points to.
    pub fn follow(&mut self, from: Located, reference: &str) -> Result<Located> {
        let schema = self.resolve(from.schema, reference)?;
        self.locate(schema, from.scope)
    }

    /// What the `$dynamicRef` of `from` points to.
    pub fn follow_dynamic(&mut self, from: Located, reference: &str) -> Result<Located> {
        let reference = Reference { from: from.schema, keyword: "$dynamicRef", text: reference };
        let target = self.find(reference)?;
        let outermost = match target.dynamic {
            Some(name) => self.outermost(reference, name, from.scope)?,
            None => None,
        };
        self.locate(outermost.unwrap_or(target.schema), from.scope)
    }

    /// The schema that has the dynamic anchor `name` in the outermost resource that has it.
    fn outermost(
        &mut self,
        reference: Reference<'_>,
        name: &str,
        scope: ScopeId,
    ) -> Result<Option<SchemaId>> {
        let Some(schema) = self.scopes.lookup(scope, Some(name)) else { return Ok(None) };
        let anchors = self.anchors(self.locations.get(schema).resource)?;
        match anchors.get(name) {
            Some(anchor) if anchor.ambiguous => Err(self.ambiguous_anchor(reference, name)),
            _ => Ok(Some(schema)),
        }
    }

    /// What the `$recursiveRef` of `from` points to.
    pub fn follow_recursive(&mut self, from: Located, reference: &str) -> Result<Located> {
        let reference = Reference { from: from.schema, keyword: "$recursiveRef", text: reference };
        let target = self.find(reference)?.schema;
        let outermost = if self.is_recursive(target) { self.scopes.lookup(from.scope, None) } else { None };
        self.locate(outermost.unwrap_or(target), from.scope)
    }

    fn enter(&mut self, scope: ScopeId, schema: SchemaId) -> Result<ScopeId> {
        let resource = self.locations.get(schema).resource;
        if let Some(&entered) = self.scopes.entered.get(&(scope, resource)) {
            return Ok(entered);
        }
        let mut bindings = self.scopes.get(scope).to_vec();
        for binding in self.bindings(resource)? {
            if self.scopes.lookup(scope, binding.0).is_none() {
                bindings.push(binding);
            }
        }
        bindings.sort_unstable();
        let entered = self.scopes.intern(bindings);
        self.budget.check_states(self.scopes.all.len())?;
        self.scopes.entered.insert((scope, resource), entered);
        Ok(entered)
    }

    /// The dynamic anchors of a resource, each once.
    fn bindings(&mut self, resource: ResourceId) -> Result<Vec<Binding<'json>>> {
        let anchors = self.anchors(resource)?;
        let dynamic = anchors.iter().filter(|(_, anchor)| anchor.dynamic);
        let mut bindings: Vec<Binding<'json>> =
            dynamic.map(|(name, anchor)| (Some(*name), anchor.at)).collect();
        let root = self.resource(resource).root;
        if self.is_recursive(root) {
            bindings.push((None, root));
        }
        Ok(bindings)
    }

    /// Whether a schema is the root of its resource and has `$recursiveAnchor: true`.
    fn is_recursive(&self, schema: SchemaId) -> bool {
        let resource = self.resource_of(schema);
        resource.root == schema
            && resource.draft == Draft::Draft201909
            && self.json(schema).get("$recursiveAnchor").and_then(Json::as_bool) == Some(true)
    }
}
