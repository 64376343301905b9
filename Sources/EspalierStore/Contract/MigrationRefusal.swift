// The reasons why a file keeps its model: losses that are not allowed, rows that the new model cannot hold, and changes
// that need an intermediate version of the model.

public import EspalierModel

/// Rows that a newer model forbids.
public struct MigrationFailure: Sendable, Hashable {
    /// The problem of the rows.
    public enum Reason: Sendable, Hashable {
        /// The property must have a value now, and the rows have none.
        case noValue
        /// Their values have no exact equivalent of the new type.
        case inexact(AttributeType)
        /// They lead to some objects, but to fewer than the relationship must now lead to (MD-29).
        case tooFewDestinations(minimum: Int)
        /// They lead to more objects than the relationship may now lead to (MD-29).
        case tooManyDestinations(maximum: Int)
        /// They lead to several objects, where the relationship now leads to one.
        case severalDestinations
        /// They lead to objects of an entity to which the relationship does not lead any more.
        case otherDestination
        /// Their entity is abstract now.
        case abstractEntity
        /// They share values that must be unique now.
        case notUnique([String])
        /// Their entity is mapped, but no mapping took them.
        case unmapped
        /// They have values, but the mappings with these names, which took them, do not read the property or the
        /// element of a composite, as other mappings of the entity do.
        case unread(by: [String])
        /// They lead to several objects in an order that the mappings with these names, which took them, do not keep,
        /// as other mappings of the entity do.
        case unordered(by: [String])
    }

    /// The entity, its property and elements of that, by their names in the newer model, or in the older one if
    /// mappings do not keep them; the entity alone if the problem is about whole rows.
    public let subject: String
    /// The problem of the rows.
    public let reason: Reason
    /// The number of rows; for shared values, the number of pairs that were found before the search ended.
    public let rowCount: Int
    /// The first of these rows, at most 100, by the IDs that the file has now.
    public let objects: [ObjectID]

    /// Creates a failure.
    public init(subject: String, reason: Reason, rowCount: Int, objects: [ObjectID]) {
        (self.subject, self.reason, self.rowCount, self.objects) = (subject, reason, rowCount, objects)
    }
}

extension MigrationFailure: CustomStringConvertible {
    /// The problem with the first rows, and the remedy.
    public var description: String {
        let count = "\(rowCount) \(rowCount == 1 ? "row" : "rows")"
        let shown = objects.prefix(5).map { "\($0.entityName)/\($0.key)" }.joined(separator: ", ")
        let lead = rowCount == 1 ? "leads" : "lead"
        let list = objects.isEmpty ? "" : " (\(shown)\(rowCount > min(5, objects.count) ? ", ..." : ""))"
        switch reason {
        case .noValue:
            return "\(subject) must now have a value, but \(count)\(list) have none: give it a default value, or make "
                + "it optional in an intermediate version and set the values there"
        case .inexact(let type):
            return
                "\(subject): the values of \(count)\(list) have no exact equivalent of type \(type): change them with "
                + "the file's model first, or keep the type"
        case .tooFewDestinations(let minimum):
            return
                "\(subject) must now lead to at least \(minimum) objects, if to any, but \(count)\(list) \(lead) to "
                + "fewer: add objects with the file's model first, or keep the smaller minimum"
        case .tooManyDestinations(let maximum):
            return
                "\(subject) may now lead to at most \(maximum) \(maximum == 1 ? "object" : "objects"), but "
                + "\(count)\(list) \(lead) to more: remove objects with the file's model first, or keep the larger "
                + "maximum"
        case .severalDestinations:
            return
                "\(subject) now leads to one object, but \(count)\(list) lead to several: choose one with the file's "
                + "model first"
        case .otherDestination:
            return "\(subject): \(count)\(list) \(lead) to objects of entities that it can no longer lead to: change "
                + "them with the file's model first, or use a mapping with a rule for \(subject)"
        case .abstractEntity: return "\(subject) is now abstract, but has \(count)\(list): delete them first"
        case .unmapped:
            return "\(subject): no mapping takes \(count)\(list): add a mapping for them, or allow the removal of "
                + "\(subject) by its name"
        case .unread(let mappings):
            return "\(subject): the values of \(count)\(list) are lost, because the mappings that take these do not "
                + "read it: \(mappings.joined(separator: ", ")); add a rule that copies it, name it among the "
                + "properties that such a mapping reads, or allow the removal of \(subject) by its name"
        case .unordered(let mappings):
            return "\(subject): the order of \(count)\(list) is lost, because the mappings that take these follow it "
                + "without one: \(mappings.joined(separator: ", ")); make the relationship that follows it ordered, or "
                + "allow the loss of the order of \(subject) by its name"
        case .notUnique(let properties):
            return "\(subject): \(properties.joined(separator: ", ")) must now be unique, but rows share "
                + "values\(list): change them with the file's model first"
        }
    }
}

/// The reasons why a migration was refused; the file is unchanged.
public struct MigrationRefusal: Error, Sendable, Hashable {
    /// The losses that the options do not allow.
    public let losses: [MigrationLoss]
    /// Changes that cannot be made in one step, each with a remedy.
    public let obstacles: [String]
    /// Rows that the newer model forbids.
    public let failures: [MigrationFailure]

    /// Creates a refusal.
    public init(losses: [MigrationLoss] = [], obstacles: [String] = [], failures: [MigrationFailure] = []) {
        (self.losses, self.obstacles, self.failures) = (losses, obstacles, failures)
    }

    /// Whether there is no reason.
    package var isEmpty: Bool { losses.isEmpty && obstacles.isEmpty && failures.isEmpty }
}

extension MigrationRefusal: CustomStringConvertible {
    /// All reasons, and the remedies.
    public var description: String {
        var parts = obstacles + failures.map(\.description)
        if !losses.isEmpty {
            parts.insert(
                "the migration causes losses: \(losses.map(\.description).joined(separator: ", ")); allow each loss "
                    + "by its "
                    + "name, or use a model that keeps these parts", at: 0)
        }
        return parts.joined(separator: "; ")
    }
}
