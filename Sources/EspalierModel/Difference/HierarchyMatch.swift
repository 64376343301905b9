// Which hierarchies of an older model the rows of each newer hierarchy come from, and which rows stay in place.
//
// Primary keys belong to a hierarchy. Rows of one older hierarchy keep theirs wherever they go together. Where several
// older hierarchies become one, the first keeps its keys; those of the others go up by what was given out before them.
//
// Invariants
//   1. A hierarchy takes over the rows of one older hierarchy in place at most, and each of those goes to one at most.

/// Where the rows of a newer hierarchy come from.
package struct HierarchyMatch: Sendable, Hashable {
    /// The root of the newer hierarchy.
    package let root: ManagedObjectModel.EntityIndex
    /// The roots of the older hierarchies whose rows come here, in the order in which they take keys.
    package let sources: [ManagedObjectModel.EntityIndex]
    /// Whether the rows of the first source stay in place.
    package let takesOver: Bool
}

extension ModelMatch {
    /// One answer for each hierarchy of the newer model, in its order.
    package var hierarchies: [HierarchyMatch] {
        var sources: [EntityIndex: [EntityIndex]] = [:]
        for (older, newer) in newEntities.enumerated() {
            guard let newer, !old.entities[older].isAbstract else { continue }
            let (from, to) = (old.entities[older].root, new.entities[newer].root)
            if sources[to]?.contains(from) != true { sources[to, default: []].append(from) }
        }
        /// Where the tree of each older hierarchy goes: with its root if that has a successor, else with the first.
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
