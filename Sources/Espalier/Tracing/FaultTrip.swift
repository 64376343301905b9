// The reads of a store that faults cause, one by one, for tests that limit them (F-2).
//
// Invariants
//   1. Trips are recorded only while a test asks for them.

public import EspalierModel

/// One read of a store, because a fault has fired or a relationship was asked (F-2).
public struct FaultTrip: Sendable, Hashable {
    /// The kind of content that was read.
    public enum Kind: Sendable, Hashable {
        /// The rows of objects.
        case rows
        /// The destinations of a to-many relationship.
        case destinations(relationship: String)
        /// The number of destinations of a to-many relationship.
        case count(relationship: String)
        /// Whether a to-many relationship has a certain destination.
        case membership(relationship: String)
    }

    /// The object whose fault has fired.
    public let object: ObjectID
    /// The kind of content that was read.
    public let kind: Kind
    /// The number of objects of which it was read, together with this one.
    public let objectCount: Int
}

extension FaultTrip: CustomStringConvertible {
    /// The object or relationship, and the number of objects.
    public var description: String {
        let others = objectCount > 1 ? ", together with \(objectCount - 1) others" : ""
        return switch kind {
        case .rows: "the row of \(object)\(others)"
        case .destinations(let name): "\(name) of \(object)\(others)"
        case .count(let name): "the number of \(name) of \(object)"
        case .membership(let name): "whether \(name) of \(object) has an object"
        }
    }
}

/// The error of a block that has caused more reads of a store than a test allows (F-2).
public struct UnexpectedTrips: Error, Sendable, CustomStringConvertible {
    /// The number of reads that were allowed.
    public let limit: Int
    /// The number of reads.
    public let count: Int
    /// The first 100 reads.
    public let trips: [FaultTrip]

    /// The reads, one in a line.
    public var description: String {
        let more = count > trips.count ? ["  and \(count - trips.count) more"] : []
        return "faults caused \(count) reads of a store, and at most \(limit) were expected; prefetch what the walk "
            + "needs, or fetch its objects together:\n" + (trips.map { "  \($0)" } + more).joined(separator: "\n")
    }
}

/// The trips of a block.
final class TripLog {
    private static let keptCountMax = 100
    private(set) var trips: [FaultTrip] = []
    private(set) var count = 0

    /// Records a trip for some objects, of which `id` needed it.
    func note(_ kind: FaultTrip.Kind, of id: ObjectID, objectCount: Int = 1) {
        count += 1
        if trips.count < Self.keptCountMax {
            trips.append(FaultTrip(object: id, kind: kind, objectCount: objectCount))
        }
    }

    /// - Throws: `UnexpectedTrips` if there are more than `limit`.
    func check(atMost limit: Int) throws(UnexpectedTrips) {
        guard count <= limit else { throw UnexpectedTrips(limit: limit, count: count, trips: trips) }
    }
}
