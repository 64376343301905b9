// A request's terms bound to a model.

import EspalierModel
import EspalierStore

extension StoreFetch {
    /// Resolves the names in `terms` against `model`.
    ///
    /// - Throws: `ContextError.unknownEntity`, `.invalidPredicate`.
    init(_ terms: borrowing FetchTerms, in model: ManagedObjectModel) throws(ContextError) {
        guard let entity = model.entity(named: terms.entityName) else {
            throw .unknownEntity(terms.entityName, known: model.entities.map(\.name))
        }
        do {
            var sort: [ResolvedSortKey] = []
            for key in terms.sortKeys { sort.append(try ResolvedSortKey(key, for: entity, in: model)) }
            self.init(
                entity: entity, includesSubentities: terms.includesSubentities,
                predicate: try terms.predicate.map { predicate throws(FetchPredicateError) in
                    try ResolvedPredicate(predicate, for: entity, in: model)
                },
                sort: sort, offset: max(0, terms.fetchOffset), limit: terms.fetchLimit > 0 ? terms.fetchLimit : nil)
        } catch {
            throw .invalidPredicate(error)
        }
        storeTags = terms.affectedStores.map { Set($0.compactMap { Interned.stores.existingTag(of: $0) }) }
    }
}
