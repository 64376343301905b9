// After a save, an object reads the same as in any other context: the comparison after every save of this suite.
//
// A fresh context on the same stores is the oracle. Only values in memory are compared, so that the saving context
// makes no trip to the store and calls no hook for the comparison.

import Espalier
import EspalierModel
import Testing

extension ManagedObjectContext {
    /// Saves; then each object in memory must read the values that a fresh context reads.
    func saveAndCompare(sourceLocation: SourceLocation = #_sourceLocation) throws(ContextError) {
        try save()
        compareWithFreshContext(sourceLocation: sourceLocation)
    }

    /// Requires each unchanged object whose values are in memory to read the values that a fresh context reads.
    func compareWithFreshContext(sourceLocation: SourceLocation = #_sourceLocation) {
        let fresh = ManagedObjectContext(persistentStoreCoordinator)
        for object in registeredObjects where !object.hasChanges && !object.isFault && !object.isDeleted {
            do {
                let other = try fresh.existingObject(with: object.objectID)
                for name in try object.namesOfDifferences(from: other) {
                    Issue.record(
                        """
                        \(object.objectID).\(name) reads \(try object.text(of: name)), and \(try other.text(of: name)) \
                        in a fresh context
                        """, sourceLocation: sourceLocation)
                }
            } catch {
                Issue.record("\(object.objectID): \(error)", sourceLocation: sourceLocation)
            }
        }
    }
}

extension ManagedObject {
    /// The names of the properties that are in memory in this object and differ in `other`.
    fileprivate func namesOfDifferences(from other: ManagedObject) throws(ContextError) -> [String] {
        var names: [String] = []
        for attribute in entity.attributes where !attribute.isTransient {
            // Two values that compare as equal, such as 0.0 and -0.0, can still differ as texts.
            if "\(self[attribute: attribute.name])" != "\(other[attribute: attribute.name])" {
                names.append(attribute.name)
            }
        }
        for relationship in entity.relationships where !hasFault(forRelationshipNamed: relationship.name) {
            let here = try objectIDs(forRelationshipNamed: relationship.name)
            let there = try other.objectIDs(forRelationshipNamed: relationship.name)
            let isEqual = relationship.isOrdered ? here == there : Set(here) == Set(there) && here.count == there.count
            if !isEqual { names.append(relationship.name) }
        }
        return names
    }

    fileprivate func text(of name: String) throws(ContextError) -> String {
        entity.attribute(named: name) != nil
            ? "\(self[attribute: name])" : "\(try objectIDs(forRelationshipNamed: name))"
    }
}
