// A log of the requests that contexts send to their stores (DB-01, DB-04).
//
// Invariants
//   1. Without a log, a request costs one test.
//   2. The log sees a request after it has ended, also if it has failed.

import FoundationEssentials

/// One request of a context to a store, or to its parent (DB-01).
public struct StoreRequestRecord: Sendable {
    /// The kinds of requests.
    public enum Kind: String, Sendable, Hashable {
        /// Rows that match a condition.
        case fetch
        /// Values of rows that match a condition, or of groups of rows.
        case values
        /// IDs of rows that match a condition.
        case fetchIDs = "fetch IDs"
        /// The number of rows that match a condition.
        case count
        /// Rows by their IDs.
        case rows
        /// The destinations of to-many relationships.
        case destinations
        /// The number of destinations of a to-many relationship, or of those up to a limit.
        case destinationCount = "count of destinations"
        /// Whether a to-many relationship has a certain destination.
        case membership
        /// The plan of a fetch.
        case explain
        /// A transaction that writes.
        case save
        /// Rows that are inserted without objects.
        case batchInsert = "batch insert"
        /// Rows that are changed without objects.
        case batchUpdate = "batch update"
        /// Rows that are deleted without objects.
        case batchDelete = "batch delete"
        /// IDs for new rows, before a save.
        case reserveIDs = "reserve IDs"
    }

    /// The kind of the request.
    public let kind: Kind
    /// The name of the entity; of the first one, if the request names rows of several.
    public let entityName: String?
    /// The name of the context; `nil` if it has none.
    public let contextName: String?
    /// Whether the context asked its parent instead of a store.
    public let isOfParent: Bool
    /// The number of rows, IDs or destinations that were read or written; for a save and a reservation that have
    /// failed, the number that was asked for.
    public let rowCount: Int
    /// The time that the request took.
    public let duration: Duration
    /// The steps in which a store answers a fetch; empty for other requests and for a log without plans.
    public let plan: [String]
    /// Conditions and IDs; `nil` for a log without values.
    public let values: String?
    /// The error, if the request has failed.
    public let failure: String?
}

extension StoreRequestRecord: CustomStringConvertible {
    /// One line, and one more for each step of the plan, and for the values.
    public var description: String {
        let nanoseconds = duration.components.attoseconds / 1_000_000_000 + duration.components.seconds * 1_000_000_000
        let place = (contextName.map { " in \($0)" } ?? "") + (isOfParent ? " from its parent" : "")
        let head =
            "\(kind.rawValue)\(entityName.map { " \($0)" } ?? "")\(place): \(rowCount) rows, "
            + "\(nanoseconds / 1000) µs" + (failure.map { ", failed: \($0)" } ?? "")
        return ([head] + plan.map { "  plan: \($0)" } + (values.map { ["  values: \($0)"] } ?? []))
            .joined(separator: "\n")
    }
}

/// A receiver of the requests of contexts (DB-01).
///
/// Set it as the `requestLog` of a context, or let the process set it for all contexts, without a change of the
/// program:
///
///     ESPALIER_REQUEST_LOG=2 application
///     application -espalier.RequestLog 2
///
/// The number is the level, from 1 to 3; a greater one is 3. Each request is then written to the standard error as
/// lines of text. One line there says so if the level is no number.
public struct RequestLog: Sendable {
    /// The contents of a record.
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        /// Kind, entity, rows and time.
        case requests = 1
        /// And the plan of each fetch.
        case plans
        /// And the conditions with their values, and the IDs of rows.
        case values

        /// Whether `left` has less than `right`.
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// The contents of the records.
    public let level: Level
    /// Called with each record, on the thread of the context.
    let receive: @Sendable (StoreRequestRecord) -> Void

    /// Makes a log that calls `receive` with each request, on the thread of the context.
    ///
    /// `receive` must not use the context.
    public init(_ level: Level = .requests, _ receive: @escaping @Sendable (StoreRequestRecord) -> Void) {
        (self.level, self.receive) = (level, receive)
    }

    /// A log that writes to the standard error.
    public static func standardError(_ level: Level = .requests) -> RequestLog {
        RequestLog(level) { ProcessSetting.report($0.description) }
    }

    /// The log that the arguments or the environment of the process ask for (DB-04).
    static let ofProcess = level(
        arguments: ProcessInfo.processInfo.arguments, environment: ProcessInfo.processInfo.environment
    ).map { standardError($0) }

    /// The level that arguments or environment ask for, the arguments first; `nil` if there is no number from 1.
    ///
    /// A number above 3, such as the fourth level of Core Data, asks for the third one. `report` gets a line about a
    /// text that is no number.
    static func level(
        arguments: [String], environment: [String: String], report: (String) -> Void = ProcessSetting.report
    ) -> Level? {
        ProcessSetting.level(
            argument: "-espalier.RequestLog", variable: "ESPALIER_REQUEST_LOG", greatest: Level.values.rawValue,
            arguments: arguments, environment: environment, report: report
        ).flatMap { Level(rawValue: $0) }
    }
}
