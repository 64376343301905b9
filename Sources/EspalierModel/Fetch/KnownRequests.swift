// Resolves requests, and keeps the resolved form of those that are made again, for all contexts of a coordinator.
//
// An application keeps a request and runs it many times, or makes an equal one each time. Both are the same here: a
// form is found by what the request says. So a request that is changed after its first use is another request.
//
// Invariants
//   1. A kept form is returned only for a request of the same entity whose condition and order are identical to those
//      that it was resolved from (`FetchPredicate.isIdentical`), and only if it does not depend on the moment. An error
//      is not kept.
//   2. A form is kept when a request is missed at its place the second time in a row, so that requests that are made
//      once neither evict others nor allocate.
//   3. At most `placeCount` forms of limited size are kept. Each place has a lock, which is held only to copy a
//      reference.
// Not here: plain equalities, which are resolved in less time than it takes to look for them.

internal import Synchronization

/// The parts of a request for which names are looked up in a model.
package struct ResolvedTerms: Sendable {
    /// The entity.
    package let entity: Entity
    /// The condition; `nil` = all objects.
    package let predicate: ResolvedPredicate?
    /// The order, most significant key first.
    package let sort: [ResolvedSortKey]
    /// Whether the form is kept: the request has been made before, and is likely to be made again.
    package fileprivate(set) var isRepeated = false

    fileprivate init(_ entity: Entity, _ predicate: ResolvedPredicate? = nil, _ sort: [ResolvedSortKey] = []) {
        (self.entity, self.predicate, self.sort) = (entity, predicate, sort)
    }
}

/// The resolved forms of the requests that were made again, for one model.
package final class KnownRequests: Sendable {
    /// A power of two.
    private static let placeCount = 64

    /// The model in which names are looked up.
    package let model: ManagedObjectModel
    private let places: [Place]

    /// A table without forms.
    package init(_ model: ManagedObjectModel) {
        self.model = model
        places = (0..<Self.placeCount).map { _ in Place() }
    }

    /// The resolved form of a request; `nil` if the model has no entity of its name.
    ///
    /// - Throws: `FetchPredicateError` of the order or of the condition.
    /// - Complexity: O(size of the request).
    package func resolve(_ terms: FetchTerms) throws(FetchPredicateError) -> ResolvedTerms? {
        guard let entity = model.entity(named: terms.entityName) else { return nil }
        if terms.sortKeys.isEmpty {
            guard let predicate = terms.predicate else { return ResolvedTerms(entity) }
            if let plain = ResolvedPredicate(plain: predicate, of: entity) { return ResolvedTerms(entity, plain) }
        }
        guard let hash = Self.hash(of: terms, entity) else { return try resolveAnew(terms, entity) }
        let place = places[hash & (Self.placeCount - 1)]
        if let known = place.known, known.isOf(terms, entity) { return known.resolved }
        var resolved = try resolveAnew(terms, entity)
        guard resolved.predicate?.isLasting != false, place.isMissedAgain(hash) else { return resolved }
        resolved.isRepeated = true
        place.keep(Known(terms, resolved))
        return resolved
    }

    /// A hash of what a form depends on; `nil` for a request that is not kept.
    private static func hash(of terms: FetchTerms, _ entity: Entity) -> Int? {
        var fingerprint = RequestFingerprint()
        fingerprint.add(entity)
        for key in terms.sortKeys { fingerprint.add(key) }
        if let predicate = terms.predicate { fingerprint.add(predicate) }
        return fingerprint.hash
    }

    private func resolveAnew(_ terms: FetchTerms, _ entity: Entity) throws(FetchPredicateError) -> ResolvedTerms {
        var sort: [ResolvedSortKey] = []
        for key in terms.sortKeys { sort.append(try ResolvedSortKey(key, for: entity, in: model)) }
        var predicate: ResolvedPredicate?
        if let source = terms.predicate { predicate = try ResolvedPredicate(source, for: entity, in: model) }
        return ResolvedTerms(entity, predicate, sort)
    }

    // MARK: Places

    /// A request and its form.
    private final class Known: Sendable {
        let resolved: ResolvedTerms
        private let predicate: FetchPredicate?
        private let sortKeys: [SortKey]

        init(_ terms: FetchTerms, _ resolved: ResolvedTerms) {
            self.resolved = resolved
            (predicate, sortKeys) = (terms.predicate, terms.sortKeys)
            assert(sortKeys.allSatisfy { $0.expression == nil }, "an order by an expression is kept")
        }

        /// Whether the form is that of a request for objects of `entity`.
        func isOf(_ terms: FetchTerms, _ entity: Entity) -> Bool {
            // Key paths have no constants, so equal ones are identical.
            guard resolved.entity === entity, sortKeys == terms.sortKeys else { return false }
            switch (predicate, terms.predicate) {
            case (nil, nil): return true
            case (let known?, let asked?): return known.isIdentical(to: asked)
            case (nil, _?), (_?, nil): return false
            }
        }
    }

    /// A place for one form.
    private final class Place: Sendable {
        private struct Content {
            var known: Known?
            /// The hash of the last request whose form was not here.
            var missed = 0
        }

        private let content = Mutex(Content())

        var known: Known? { content.withLock { $0.known } }

        /// Whether the last request that was missed here has this hash, too; notes the hash.
        func isMissedAgain(_ hash: Int) -> Bool {
            content.withLock { content in
                let isAgain = content.missed == hash
                content.missed = hash
                return isAgain
            }
        }

        func keep(_ known: Known) {
            // The form that leaves is freed after the lock.
            _ = content.withLock { content in
                let former = content.known
                content.known = known
                return former
            }
        }
    }
}
