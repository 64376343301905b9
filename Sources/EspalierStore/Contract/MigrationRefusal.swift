// Why a file stays with its model: losses that nobody allowed, rows that the new model has no place for, changes that
// need a version of the model between.

public import EspalierModel

/// Rows that a newer model forbids.
public struct MigrationFailure: Sendable, Hashable {
    /// What is wrong with them.
    public enum Reason: Sendable, Hashable {
        /// The property must have a value now, and they have none.
        case noValue
        /// Their values have no equal of the new type.
        case inexact(AttributeType)
        /// They lead to several objects, where the relationship now leads to one.
        case severalDestinations
        /// They lead to objects of an entity to which the relationship does not lead any more.
        case otherDestination
        /// Their entity is abstract now.
        case abstractEntity
        /// They share values that must be unique now.
        case notUnique([String])
    }

    /// The entity and its property, as the newer model calls them; the entity alone, if it is about whole rows.
    public let subject: String
    /// What is wrong.
    public let reason: Reason
    /// How many rows it is; of shared values, how many pairs were found before the search was given up.
    public let rowCount: Int
    /// The first of them, 100 at most, as the file has them now.
    public let objects: [ObjectID]

    /// Rows that a newer model forbids.
    public init(subject: String, reason: Reason, rowCount: Int, objects: [ObjectID]) {
        (self.subject, self.reason, self.rowCount, self.objects) = (subject, reason, rowCount, objects)
    }
}

extension MigrationFailure: CustomStringConvertible {
    /// What is wrong, with the first rows, and what helps.
    public var description: String {
        let count = "\(rowCount) \(rowCount == 1 ? "row" : "rows")"
        let shown = objects.prefix(5).map { "\($0.entityName)/\($0.key)" }.joined(separator: ", ")
        let list = objects.isEmpty ? "" : " (\(shown)\(rowCount > min(5, objects.count) ? ", ..." : ""))"
        switch reason {
        case .noValue:
            return "\(subject) must have a value now, and \(count)\(list) have none: give it a default value, or make "
                + "it optional in a version between, and give them values there"
        case .inexact(let type):
            return "\(subject): the values of \(count)\(list) have no exact \(type): change them with the model of "
                + "the file first, or keep the type"
        case .severalDestinations:
            return "\(subject) leads to one object now, and \(count)\(list) lead to several: choose with the model of "
                + "the file first"
        case .otherDestination:
            return "\(subject): \(count)\(list) lead to objects of entities that it does not lead to any more"
        case .abstractEntity: return "\(subject) is abstract now, and has \(count)\(list): delete them first"
        case .notUnique(let properties):
            return "\(subject): \(properties.joined(separator: ", ")) must be unique now, and rows share values\(list)"
        }
    }
}

/// Why a migration was refused; the file is as it was.
public struct MigrationRefusal: Error, Sendable, Hashable {
    /// What would be lost, and nobody allowed to.
    public let losses: [MigrationLoss]
    /// Changes that cannot be made in one step, with what to do instead.
    public let obstacles: [String]
    /// Rows that the newer model forbids.
    public let failures: [MigrationFailure]

    /// Why a migration was refused.
    public init(losses: [MigrationLoss] = [], obstacles: [String] = [], failures: [MigrationFailure] = []) {
        (self.losses, self.obstacles, self.failures) = (losses, obstacles, failures)
    }

    /// Whether there is no reason.
    var isEmpty: Bool { losses.isEmpty && obstacles.isEmpty && failures.isEmpty }
}

extension MigrationRefusal: CustomStringConvertible {
    /// All reasons, and what would be right.
    public var description: String {
        var parts = obstacles + failures.map(\.description)
        if !losses.isEmpty {
            parts.insert(
                "this would be lost: \(losses.map(\.description).joined(separator: ", ")); allow each loss by its "
                    + "name, or open the store with a model that has a place for it", at: 0)
        }
        return parts.joined(separator: "; ")
    }
}
