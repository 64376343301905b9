// Gives the other end of a relationship the inverse that one end named.
//
// Key paths that name each other in two macros are a circle the compiler refuses, so `@Relationship(inverse:)` stands
// on one end only; in a model both ends have it.
//
// Invariants
//   1. An inverse that was written is never changed; contradictions are the model checker's to report.

import EspalierModel

extension [EntityDescription] {
    /// These descriptions, with the inverse filled in wherever the other end names it.
    ///
    /// - Complexity: O(relationships x length of the line of superentities).
    func completingInverses() -> [EntityDescription] {
        var completed = self
        let indexByName = Dictionary(enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        for entity in self {
            for relationship in entity.relationships {
                guard let inverse = relationship.inverse else { continue }
                var destination = indexByName[relationship.destination]
                while let index = destination {
                    guard let slot = completed[index].relationships.firstIndex(where: { $0.name == inverse }) else {
                        destination = completed[index].superentity.flatMap { indexByName[$0] }
                        continue
                    }
                    if completed[index].relationships[slot].inverse == nil {
                        completed[index].relationships[slot].inverse = relationship.name
                    }
                    break
                }
            }
        }
        return completed
    }
}
