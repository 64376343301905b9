// Finds the older hierarchies that supply the rows of each newer hierarchy, and the rows that stay in place.
//
// Primary keys belong to a hierarchy. Rows of one older hierarchy keep their keys wherever they move together. Where
// several older hierarchies become one, the rows of the first keep their keys; the keys of each other hierarchy are
// increased by the sum of the last keys of the hierarchies before it.
//
// Invariants
//   1. A newer hierarchy takes over the rows of at most one older hierarchy in place, and an older hierarchy is taken
//      over by at most one newer one.

/// The sources of the rows of a newer hierarchy.
package struct HierarchyMatch: Sendable, Hashable {
    /// The root of the newer hierarchy.
    package let root: ManagedObjectModel.EntityIndex
    /// The roots of the older hierarchies whose rows move here, in the order in which they are assigned keys.
    package let sources: [ManagedObjectModel.EntityIndex]
    /// Whether the rows of the first source stay in place.
    package let takesOver: Bool
}

extension ModelMatch {
    /// One match for each hierarchy of the newer model, in the order of that model.
    package var hierarchies: [HierarchyMatch] {
        var sources: [EntityIndex: [EntityIndex]] = [:]
        for (older, newer) in newEntities.enumerated() {
            guard let newer, !old.entities[older].isAbstract else { continue }
            let (from, to) = (old.entities[older].root, new.entities[newer].root)
            if sources[to]?.contains(from) != true { sources[to, default: []].append(from) }
        }
        /// The new home of each older hierarchy's tree: that of its root if the root has a successor, otherwise the
        /// first hierarchy that receives its rows.
        var homes: [EntityIndex: EntityIndex] = [:]
        for entity in old.entities where entity.root == entity.index {
            if let newer = newEntities[entity.index], sources[new.entities[newer].root]?.contains(entity.index) == true
            {
                homes[entity.index] = new.entities[newer].root
            } else {
                homes[entity.index] =
                    new.entities.first {
                        $0.root == $0.index && sources[$0.index]?.contains(entity.index) == true
                    }?.index
            }
        }
        return new.entities.filter { $0.root == $0.index }.map { root in
            let all = sources[root.index] ?? []
            let former = oldEntities[root.index].map { old.entities[$0].root }
            let candidates = all.filter { homes[$0] == root.index }
            let first = former.flatMap { candidates.contains($0) ? $0 : nil } ?? candidates.first
            guard let first else { return HierarchyMatch(root: root.index, sources: all, takesOver: false) }
            return HierarchyMatch(root: root.index, sources: [first] + all.filter { $0 != first }, takesOver: true)
        }
    }
}
