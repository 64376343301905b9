// Queries that lead from many objects to many, and changes of many rows by one request: of members and their clubs.
//
// Invariants
//   1. Both contenders have the same rows, a unique index on the members' numbers, and the links of members and clubs
//      from either side.
//   2. A request is one durable transaction; what is true afterwards is compared outside the clock.

import BenchKit
import Espalier
import Foundation
import Peers

@Entity final class Club: ManagedObject {
    var name: String = ""
    @Relationship(inverse: \Member.clubs) var members: ToMany<Member>
}

@Entity final class Member: ManagedObject {
    var name: String = ""
    @Attribute(.unique(onConflict: .merge)) var number: Int = 0
    var score: Int = 0
    var clubs: ToMany<Club>
}

/// A store of members and clubs.
protocol ClubContender: AnyObject {
    static var name: String { get }
    init(folder: String) throws
    /// Inserts `count` members, each in three clubs of a hundredth as many.
    func insert(_ count: Int) throws
    /// Reads the names of the clubs of every member; returns the sum of their lengths.
    func expand() throws -> Int
    /// Adds 1 to every member's score by one request.
    func raise() throws
    /// Gives every member the same name, which is longer than theirs, by one request.
    func rename() throws
    /// Deletes the members from a number on, with their places in clubs, by one request.
    func dismiss(from number: Int) throws
    /// Inserts members with these numbers, or gives those that exist another name, by one request.
    func upsert(_ numbers: [Int]) throws
    /// The number of members, and the sums of their scores and of the lengths of their names, added up.
    func state() throws -> Int
    func close() throws
}

struct QueryLines {
    /// The number of members.
    let count: Int
    let folder: URL

    fileprivate static func clubCount(_ count: Int) -> Int { max(3, count / 100) }
    fileprivate static func clubs(of number: Int, _ clubCount: Int) -> [Int] {
        [0, 1, 2].map { (number &* 7 &+ $0 &* (clubCount / 3)) % clubCount }
    }
    fileprivate static func clubName(_ number: Int) -> String { "Club \(number)" }
    fileprivate static func memberName(_ number: Int) -> String { "Member number \(number)" }
    fileprivate static let commonName = "A member of several clubs"

    /// Numbers of which half exist, in random order.
    private var numbers: [Int] {
        let half = min(50_000, count)
        var generator = SplitMix64(state: 5)
        return (count - half..<count + half).shuffled(using: &generator)
    }

    func all() -> [() -> Line] {
        [
            {
                line("expand many to many", count * 3, "the names of the three clubs of every member") {
                    try $0.expand()
                }
            },
            {
                line("batch update", count, "one request: every score by 1, versions too; durable") {
                    try $0.raise()
                    return 0
                }
            },
            {
                line("batch update of a text", count, "one request: a longer name for all, versions too; durable") {
                    try $0.rename()
                    return 0
                }
            },
            {
                let first = count / 2
                return line(
                    "batch delete", count - first,
                    "one request: half of the members, each with three links and a unique number; durable"
                ) {
                    try $0.dismiss(from: first)
                    return 0
                }
            },
            {
                let numbers = numbers
                return line(
                    "batch upsert", numbers.count, "one request: half of the unique numbers exist; durable"
                ) {
                    try $0.upsert(numbers)
                    return 0
                }
            },
        ]
    }

    private func line(
        _ name: String, _ operations: Int, _ note: String, _ body: @escaping (any ClubContender) throws -> Int
    ) -> Line {
        let (agreement, states) = (Agreement(), Agreement())
        let types: [any ClubContender.Type] =
            SQLite.shared == nil ? [EspalierClubs.self] : [EspalierClubs.self, SQLiteClubs.self]
        let work = StoreWork<any ClubContender>(
            folder: folder, place: "clubs", rows: .copied { try $0.insert(count) }, body: body
        ) { sum, store in
            try agreement.check(sum)
            try states.check(store.state())
        }
        return Line(
            name, note: note + "; \(count) members", operationCount: operations,
            contenders: work.contenders(
                types.map { type in
                    StoreContender(
                        name: type.name, open: { try type.init(folder: $0) }, close: { try $0.close() })
                }))
    }
}

final class EspalierClubs: ClubContender {
    static let name = "espalier"
    private let coordinator: PersistentStoreCoordinator

    init(folder: String) throws {
        coordinator = try PersistentStoreCoordinator(
            file: folder + "/clubs.espalier", of: [Club.self, Member.self])
    }

    func insert(_ count: Int) throws {
        var context = ManagedObjectContext(coordinator)
        var clubs = (0..<QueryLines.clubCount(count)).map { number in
            let club = Club(context: context)
            club.name = QueryLines.clubName(number)
            return club
        }
        for number in 0..<count {
            let member = Member(context: context)
            (member.name, member.number) = (QueryLines.memberName(number), number)
            for club in QueryLines.clubs(of: number, clubs.count) { member.clubs.insert(clubs[club]) }
            guard (number + 1) % People.portionCount == 0, number + 1 < count else { continue }
            // The objects of a portion end with its context.
            try context.save()
            let ids = clubs.map(\.objectID)
            context = ManagedObjectContext(coordinator)
            clubs = try ids.compactMap { try context.object(with: $0) as? Club }
        }
        try context.save()
    }

    func expand() throws -> Int {
        var sum = 0
        try ManagedObjectContext(coordinator).enumerate(FetchRequest<Member>()) { member in
            for club in member.clubs { sum &+= club.name.utf8.count }
        }
        return sum
    }

    func raise() throws {
        var request = BatchUpdateRequest(entityName: "Member")
        try request.set(\Member.score, to: #Expression<Member, Int> { $0.score + 1 })
        try ManagedObjectContext(coordinator).execute(request)
    }

    func rename() throws {
        var request = BatchUpdateRequest(entityName: "Member")
        try request.set(\Member.name, to: QueryLines.commonName)
        try ManagedObjectContext(coordinator).execute(request)
    }

    func dismiss(from number: Int) throws {
        let members = FetchRequest<Member>(try FetchPredicate(format: "number >= \(number)"))
        try ManagedObjectContext(coordinator).execute(BatchDeleteRequest(members))
    }

    func upsert(_ numbers: [Int]) throws {
        var rest = numbers.makeIterator()
        let request = BatchInsertRequest(Member.self) { row in
            guard let number = rest.next() else { return true }
            row.set(\.number, to: number)
            row.set(\.name, to: "New name of member \(number)")
            return false
        }
        try ManagedObjectContext(coordinator).execute(request)
    }

    func state() throws -> Int {
        var sum = 0
        try ManagedObjectContext(coordinator).enumerate(FetchRequest<Member>()) { member in
            sum &+= 1 &+ member.score &+ member.name.utf8.count
        }
        return sum
    }

    func close() throws { try coordinator.closeStores() }
}

final class SQLiteClubs: SQLiteTables, ClubContender {
    static let name = "sqlite"

    convenience init(folder: String) throws {
        try self.init(path: folder + "/clubs.sqlite")
        for text in [
            "CREATE TABLE IF NOT EXISTS club(pk INTEGER PRIMARY KEY, version INTEGER, name TEXT)",
            """
            CREATE TABLE IF NOT EXISTS member(pk INTEGER PRIMARY KEY, version INTEGER, name TEXT, number INTEGER,
                score INTEGER)
            """,
            "CREATE UNIQUE INDEX IF NOT EXISTS member_number ON member(number)",
            """
            CREATE TABLE IF NOT EXISTS membership(member INTEGER, club INTEGER, PRIMARY KEY(member, club))
                WITHOUT ROWID
            """,
            "CREATE INDEX IF NOT EXISTS membership_club ON membership(club, member)",
        ] { try connection.execute(text) }
    }

    func insert(_ count: Int) throws {
        try connection.execute("BEGIN IMMEDIATE")
        let clubCount = QueryLines.clubCount(count)
        let club = try statement("INSERT INTO club(pk, version, name) VALUES(?, 1, ?)")
        for number in 0..<clubCount {
            _ = library.bindInt64(club, 1, Int64(number + 1))
            bind(QueryLines.clubName(number), club, 2)
            try connection.run(club)
        }
        let member = try statement("INSERT INTO member(pk, version, name, number, score) VALUES(?, 1, ?, ?, 0)")
        let link = try statement("INSERT INTO membership(member, club) VALUES(?, ?)")
        for number in 0..<count {
            _ = library.bindInt64(member, 1, Int64(number + 1))
            bind(QueryLines.memberName(number), member, 2)
            _ = library.bindInt64(member, 3, Int64(number))
            try connection.run(member)
            for club in QueryLines.clubs(of: number, clubCount) {
                _ = library.bindInt64(link, 1, Int64(number + 1))
                _ = library.bindInt64(link, 2, Int64(club + 1))
                try connection.run(link)
            }
        }
        try connection.execute("COMMIT")
    }

    func expand() throws -> Int {
        let statement = try statement(
            "SELECT member.pk, club.name FROM member JOIN membership ON membership.member = member.pk"
                + " JOIN club ON club.pk = membership.club")
        var sum = 0
        while library.step(statement) == SQLite.row { sum &+= text(statement, 1).utf8.count }
        _ = library.reset(statement)
        return sum
    }

    func raise() throws {
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute("UPDATE member SET score = score + 1, version = version + 1")
        try connection.execute("COMMIT")
    }

    func rename() throws {
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute(
            "UPDATE member SET name = '\(QueryLines.commonName)', version = version + 1")
        try connection.execute("COMMIT")
    }

    func dismiss(from number: Int) throws {
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute(
            "DELETE FROM membership WHERE member IN (SELECT pk FROM member WHERE number >= \(number))")
        try connection.execute("DELETE FROM member WHERE number >= \(number)")
        try connection.execute("COMMIT")
    }

    func upsert(_ numbers: [Int]) throws {
        try connection.execute("BEGIN IMMEDIATE")
        let upsert = try statement(
            "INSERT INTO member(version, name, number, score) VALUES(1, ?, ?, 0)"
                + " ON CONFLICT(number) DO UPDATE SET name = excluded.name, version = version + 1")
        for number in numbers {
            bind("New name of member \(number)", upsert, 1)
            _ = library.bindInt64(upsert, 2, Int64(number))
            try connection.run(upsert)
        }
        try connection.execute("COMMIT")
    }

    func state() throws -> Int {
        let statement = try statement("SELECT score, name FROM member")
        var sum = 0
        while library.step(statement) == SQLite.row {
            sum &+= 1 &+ Int(library.columnInt64(statement, 0)) &+ text(statement, 1).utf8.count
        }
        _ = library.reset(statement)
        return sum
    }
}
