// A log of the migrations of stores: what was compared, each step, and where the time went (DB-03).
//
// Invariants
//   1. Without a log a migration costs one test for each of its parts, none for a row.
//   2. Every migration that has begun ends with one record that says whether it was committed.

internal import EspalierModel

/// A receiver of what migrations do (Behaviour DB-03).
///
/// Pass it in `MigrationOptions`, or let the process set it, without a change of the program:
///
///     ESPALIER_MIGRATION_LOG=2 application
///     application -espalier.MigrationLog 2
///
/// The number is the level.
public final class MigrationLog: Sendable {
    /// The contents of the log.
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        /// Beginning, steps with their rows, and end.
        case steps = 1
        /// And the parts of the work, with rows and time.
        case parts
        /// And the older entity and property that each newer one continues.
        case matches

        /// Whether `left` has less than `right`.
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// The contents of the log.
    public let level: Level
    private let receive: @Sendable (MigrationRecord) -> Void

    /// Makes a log that calls `receive` with each record, on the thread of the migration.
    ///
    /// `receive` must not use the store.
    public init(_ level: Level = .steps, _ receive: @escaping @Sendable (MigrationRecord) -> Void) {
        (self.level, self.receive) = (level, receive)
    }

    /// Passes a record on, if the level has such records.
    package func note(_ record: MigrationRecord) { if record.level <= level { receive(record) } }
}

extension MigrationLog: Hashable {
    /// Whether both are the same object.
    public static func == (left: MigrationLog, right: MigrationLog) -> Bool { left === right }
    /// Hashes the identity of the object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// One record of a migration (DB-03).
public enum MigrationRecord: Sendable {
    /// The source of the rules by which a migration works.
    public enum Origin: Sendable, Hashable {
        /// Names and renaming identifiers of both models.
        case inferred
        /// Mappings, by name, and for all other entities names and renaming identifiers.
        case mappings([String])
        /// A file that is not migrated adopts a model of the same rows: indexes, constraints and records are adapted.
        case sameRows
    }

    /// A plan of versions goes from version number `from` to the next one; the first is 0.
    case stage(from: Int, of: Int)
    /// A migration has begun: the checksum of the model in the file, and that of the newer model.
    case began(path: String?, from: String, to: String, Origin, isTrial: Bool)
    /// A newer entity or property continues an older one.
    case match(newer: String, older: String)
    /// A step, with the number of its rows.
    case step(MigrationPlan.Step)
    /// A part of the work is done: rows or entries that it read or wrote, and its time.
    case part(String, count: Int, duration: Duration)
    /// The objects that a mapping has made.
    case mapping(MigrationPlan.Mapping)
    /// The migration is committed, or was rolled back as a trial; the time since its beginning.
    case ended(MigrationPlan.Outcome, duration: Duration)
    /// The migration was not made, and the file is as it was.
    case failed(reason: String, duration: Duration)

    var level: MigrationLog.Level {
        switch self {
        case .stage, .began, .step, .mapping, .ended, .failed: .steps
        case .part: .parts
        case .match: .matches
        }
    }
}

extension MigrationRecord: CustomStringConvertible {
    /// One line; one more for each reason of a failure.
    public var description: String {
        switch self {
        case .stage(let version, let count):
            return "plan: from version \(version) to version \(version + 1) of \(count - 1)"
        case .began(let path, let old, let new, let origin, let isTrial):
            return "\(isTrial ? "trial of a migration" : "migration")\(path.map { " of \($0)" } ?? "") from model "
                + "\(old.prefix(12)) in the file to \(new.prefix(12)), \(origin.text)"
        case .match(let newer, let older): return "  match: \(newer) continues \(older)"
        case .step(let step): return "  step: \(step.change), \(step.rowCount) rows"
        case .part(let name, let count, let duration): return "  part: \(name), \(count), \(duration.microseconds) µs"
        case .mapping(let mapping):
            return "  mapping: \(mapping.name) took \(mapping.sourceCount) objects and made \(mapping.createdCount)"
        case .ended(let outcome, let duration):
            return "  done: \(outcome.rowsWritten) rows written, \(outcome.rowsMoved) moved, \(outcome.rowsRemoved) "
                + "removed, \(outcome.linksWritten) links written, \(outcome.indexesBuilt) indexes built, "
                + (outcome.derivedValuesWritten > 0 ? "\(outcome.derivedValuesWritten) derived values, " : "")
                + "\(duration.microseconds) µs"
        case .failed(let reason, let duration):
            return "  not made, the file is as it was, \(duration.microseconds) µs: \(reason)"
        }
    }
}

extension MigrationRecord.Origin {
    fileprivate var text: String {
        switch self {
        case .inferred: "inferred from names and renaming identifiers"
        case .mappings(let names): "by the mappings \(names.joined(separator: ", ")), else inferred from names"
        case .sameRows: "of the same rows: indexes, constraints and records"
        }
    }
}

extension Duration {
    fileprivate var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
