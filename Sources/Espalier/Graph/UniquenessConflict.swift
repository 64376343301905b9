// A broken uniqueness constraint, as a save reports it, and as a merge policy of the application's own is asked about
// it.

public import EspalierModel
import EspalierStore

/// Objects that share values which must be unique (MP-09).
///
/// A failed save reports the first 1,000 conflicts in full, and the number of the others (`moreCount`).
public struct UniquenessConflict: Sendable, CustomStringConvertible {
    /// The entity that declares the constraint.
    public let entityName: String
    /// The properties of the constraint.
    public let properties: [String]
    /// The values that the objects share.
    public let values: [AttributeValue]
    /// The new and changed objects of the context that have the values.
    public let objects: [ObjectID]
    /// The values of the attributes and to-one relationships of `objects`, by name; destinations are object IDs.
    ///
    /// A failed save tells them of the first 1,000 objects of its report; a merge policy is told those of all.
    public let objectValues: [[String: AttributeValue]]
    /// The row that has the values already; `nil` if only objects of the context have them.
    public let stored: ObjectID?
    /// The values of that row, as in `objectValues`; empty if it could not be read.
    public let storedValues: [String: AttributeValue]
    /// 0, or the number of conflicts for which this last one of a report stands: of its constraint, or of others.
    ///
    /// It has neither values nor objects then.
    public let moreCount: Int

    init(
        _ constraint: ConstraintName, values: [AttributeValue], objects: [ObjectID],
        objectValues: [[String: AttributeValue]] = [], stored: ObjectID?, storedValues: [String: AttributeValue] = [:]
    ) {
        (entityName, properties, self.values) = (constraint.entityName, constraint.properties, values)
        (self.objects, self.objectValues) = (objects, objectValues)
        (self.stored, self.storedValues) = (stored, storedValues)
        moreCount = 0
    }

    /// The number of conflicts that a report only counts; the first of them is about `constraint`.
    init(_ constraint: ConstraintName, moreCount: Int) {
        (entityName, properties, values) = (constraint.entityName, constraint.properties, [])
        (objects, objectValues, stored, storedValues) = ([], [], nil, [:])
        self.moreCount = moreCount
    }

    /// The same conflict, with values of its objects and of the row.
    func with(
        objectValues: [[String: AttributeValue]], storedValues: [String: AttributeValue]
    ) -> UniquenessConflict {
        UniquenessConflict(
            constraint, values: values, objects: objects, objectValues: objectValues, stored: stored,
            storedValues: storedValues)
    }

    /// A conflict of which only the IDs are known.
    init(_ conflict: ConstraintConflict) {
        self.init(
            ConstraintName(conflict.entityName, conflict.properties), values: conflict.values,
            objects: [conflict.object], stored: conflict.other)
    }

    /// The constraint.
    public var constraint: ConstraintName { ConstraintName(entityName, properties) }

    /// The way to correct it.
    public var remedy: String {
        if moreCount > 0 { return "correct the reported ones and save again" }
        return "give one of them other values or delete it, or declare an action for the constraint"
    }

    /// The constraint, the values, all objects that have them, and the way to correct it.
    public var description: String {
        if moreCount > 0 { return "and \(moreCount) more, of this constraint or others; \(remedy)" }
        let shown = objects.prefix(5).map { "\($0)" } + (stored.map { ["the stored \($0)"] } ?? [])
        let more = objects.count > 5 ? " and \(objects.count - 5) more" : ""
        return "\(entityName) (\(properties.joined(separator: ", "))) = "
            + "(\(values.map(\.text).joined(separator: ", "))): \(shown.joined(separator: " and "))\(more); \(remedy)"
    }
}

/// The answer of a merge policy of the application's own to a broken uniqueness constraint (F-6).
public enum ConstraintResolution: Sendable, Hashable {
    /// The save fails with `ContextError.constraints`.
    case refuse
    /// A new object is merged into the other one, as `ConstraintAction.merge` says; then these properties get these
    /// values.
    case merge(values: [String: AttributeValue] = [:])
    /// A new object gives way to the other one, as `ConstraintAction.keep` says; the properties of the constraint of a
    /// changed object get their stored values back.
    case keep
    /// The object stays, with these values; destinations of to-one relationships are object IDs.
    case change(values: [String: AttributeValue])
}
