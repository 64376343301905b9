// Completes inverses: the other end of a relationship gets the inverse that one end named.
//
// The compiler rejects key paths in two macros that name each other as circular, so only one end has
// `@Relationship(inverse:)`; in a model both ends have it.
//
// Invariants
//   1. A written inverse is never changed; the model checker reports contradictions.

import EspalierModel

extension [EntityDescription] {
    /// These descriptions, with the inverse added wherever the other end names it.
    ///
    /// - Complexity: O(relationships * depth of inheritance).
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
