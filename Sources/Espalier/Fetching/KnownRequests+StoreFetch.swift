// A request's terms bound to a model, as a question to a store.

import EspalierModel
import EspalierStore

extension KnownRequests {
    /// The question to a store for which the names in `terms` are resolved, or were resolved when the same request was
    /// made before.
    ///
    /// - Throws: `ContextError.unknownEntity`, `.invalidPredicate`, `.unknownRelationship`.
    func storeFetch(_ terms: FetchTerms) throws(ContextError) -> StoreFetch {
        let form: ResolvedTerms?
        do { form = try resolve(terms) } catch { throw .invalidPredicate(error) }
        guard let resolved = form else { throw .unknownEntity(terms.entityName, known: model.entities.map(\.name)) }
        for path in terms.relationshipKeyPathsForPrefetching { try check(prefetched: path, of: resolved.entity) }
        var fetch = StoreFetch(
            entity: resolved.entity, includesSubentities: terms.includesSubentities, predicate: resolved.predicate,
            sort: resolved.sort, offset: max(0, terms.fetchOffset),
            limit: terms.fetchLimit > 0 ? terms.fetchLimit : nil)
        fetch.isRepeated = resolved.isRepeated
        // Not kept: a store may be opened between two requests.
        fetch.storeTags = terms.affectedStores.map { Set($0.compactMap { Interned.stores.existingTag(of: $0) }) }
        return fetch
    }

    /// Checks that each name of a dotted path for prefetching is a relationship of the entity to which the names before
    /// it lead: a wrong path is an error whatever rows there are (FR-10).
    private func check(prefetched path: String, of entity: Entity) throws(ContextError) {
        var entity = entity
        for name in path.split(separator: ".", omittingEmptySubsequences: false) {
            guard let relationship = entity.relationship(named: String(name)) else {
                throw .unknownRelationship(String(name), entity: entity.name)
            }
            entity = model.destination(of: relationship)
        }
    }
}
