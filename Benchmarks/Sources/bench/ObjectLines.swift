// The object lines: the same people and teams in Espalier's graph and in hand-written tables of SQLite.
//
// Invariants
//   1. A line that reads begins with a store that was closed after loading and opened again.
//   2. The sums over the values that were read must agree between the contenders.

import BenchKit
import Foundation
import Peers

struct ObjectLines {
    let count: Int
    let folder: URL

    private var people: People { People(count: count) }
    private var some: [Int] {
        var generator = SplitMix64(state: 9)
        return (0..<min(count, 20_000)).map { _ in Int.random(in: 0..<count, using: &generator) }
    }

    /// Different people, each of whom is changed once and undone.
    private var undone: [Int] { Array(0..<min(count, 10_000)) }

    /// The people that are saved one by one; they are few, because a durable transaction waits for the disk.
    private var few: [Int] { Array(some.prefix(200)) }

    /// All lines.
    func all() -> [() -> Line] {
        [
            {
                line("objects insert", count, "people with team and index, one save, durable", isLoaded: false) {
                    try $0.insert(people)
                    return 0
                }
            },
            {
                line("objects fetch faults", count, "one after the other, no attribute read") {
                    try $0.fetchFaults(keeping: false)
                }
            },
            {
                line("objects fetch whole", count, "one after the other, every attribute read") {
                    try $0.fetchWhole(keeping: false)
                }
            },
            fetchObservable,
            {
                line(
                    "objects fault in", some.count, "by identity, one by one", changes: false,
                    preparation: { try $0.learnIdentities(people) }
                ) {
                    try $0.faultIn(some)
                }
            },
            {
                line("objects by index", some.count, "by e-mail address, one by one", changes: false) {
                    try $0.fetchByEmail(some)
                }
            },
            {
                line("objects walk to-one", count, "one after the other, the team's name of every person") {
                    try $0.walkToTeam(keeping: false)
                }
            },
            {
                line("objects keep faults", count, "all in an array, each once, no attribute read") {
                    try $0.fetchFaults(keeping: true)
                }
            },
            {
                line("objects keep whole", count, "all in an array, each once, every attribute read") {
                    try $0.fetchWhole(keeping: true)
                }
            },
            {
                line("objects keep, walk to-one", count, "all in an array, the team's name of every person") {
                    try $0.walkToTeam(keeping: true)
                }
            },
            {
                line("objects update", count, "every person, one save, durable") {
                    try $0.update()
                    return 0
                }
            },
            updateBesideStatement, updateObservable, updateTwoLevelsUp, saveOne, undo, redo, sumsByAge, sumsByTeam,
            {
                line("objects delete", count, "every person, one save, durable") {
                    try $0.delete()
                    return 0
                }
            },
            deleteBesideStatement, memory, start,
        ] + PeopleQuery.all(count).map { query in { line(query) } }
    }

    /// A query of a store that was read once, made again in each repetition.
    private func line(_ query: PeopleQuery) -> Line {
        let times = 10
        let agreement = Agreement()
        var types: [any QueryContender.Type] = [EspalierObjects.self]
        if SQLite.shared != nil { types.append(SQLiteObjects.self) }
        return Line(
            "objects \(query.name)",
            note: query.note + "; a query of \(count) people, their \(query.isCount ? "number" : "ages") read",
            operationCount: times,
            contenders: types.map { type in
                Line.Contender(type.name) {
                    let store = try type.init(folder: try unchangedPlace(of: type))
                    var sum = try store.ages(query, times: 1)
                    let time = try nanoseconds { sum += try store.ages(query, times: times) }
                    try store.close()
                    try agreement.check(sum)
                    return time
                }
            })
    }

    /// Rows of values for few groups, by an attribute.
    private func sumsByAge() -> Line {
        line(
            "values group by with sum", count, "rows of values: sums of scores and ages for each of 70 ages",
            changes: false
        ) {
            try $0.sums(byTeam: false)
        }
    }

    /// Rows of values for many groups, by a relationship.
    private func sumsByTeam() -> Line {
        line("values group by to-one", count, "rows of values: sums of scores and ages for each team", changes: false) {
            try $0.sums(byTeam: true)
        }
    }

    /// Saves of one object each, in a context that has all of them in memory.
    private func saveOne() -> Line {
        line(
            "objects save one", few.count, "one person of all that are kept, one save each, durable",
            preparation: { try $0.keepPeople() }
        ) {
            try $0.updateEach(of: few)
            return 0
        }
    }

    /// The update of all people beside `UPDATE`: an object graph that makes objects, and one request.
    private func updateBesideStatement() -> Line {
        withRequest({ try $0.updateByRequest() }) {
            line("objects update, beside one statement", count, "every person, one save, durable; UPDATE of all rows") {
                try $0.updateBesideStatement()
                return 0
            }
        }
    }

    /// The deletion of all people beside `DELETE`.
    private func deleteBesideStatement() -> Line {
        withRequest({ try $0.deleteByRequest() }) {
            line("objects delete, beside one statement", count, "every person, one save, durable; DELETE of all rows") {
                try $0.deleteBesideStatement()
                return 0
            }
        }
    }

    /// A line beside whose contenders one request of the object graph runs.
    private func withRequest(
        _ body: @escaping (EspalierObjects) throws -> Void, _ makeLine: () -> Line
    ) -> Line {
        var line = makeLine()
        line.contenders.append(
            Line.Contender("one request") {
                try load(EspalierObjects.self)
                let store = try EspalierObjects(folder: place(of: EspalierObjects.self))
                let time = try nanoseconds { try body(store) }
                try store.close()
                return time
            })
        return line
    }

    private func updateObservable() -> Line {
        let note = "every person, in a context that can be observed, by nobody"
        return withUnobservable({ try $0.update() }) {
            line("objects update, observable", count, note) {
                try $0.updateObservable()
                return 0
            }
        }
    }

    /// Each read asks whether an observer follows it.
    private func fetchObservable() -> Line {
        let note = "four attributes each, one after the other, in a context that can be observed, by nobody"
        return withUnobservable({ blackHole(try $0.fetchWhole(keeping: false)) }) {
            line("objects fetch whole, observable", count, note) { try $0.fetchObservable() }
        }
    }

    /// A line where nobody observes; beside its contenders runs `body` in a context that cannot be observed.
    private func withUnobservable(
        _ body: @escaping (any ObjectContender) throws -> Void, _ makeLine: () -> Line
    ) -> Line {
        var line = makeLine()
        line.contenders.append(
            Line.Contender("not observable") {
                let store = try loaded(EspalierObjects.self)
                let time = try nanoseconds { try body(store) }
                try store.close()
                return time
            })
        return line
    }

    private func updateTwoLevelsUp() -> Line {
        line("objects update, two up", count, "every person, in a child's child: three saves; savepoints") {
            try $0.updateTwoLevelsUp()
            return 0
        }
    }

    /// Many unsaved changes, which are undone at once.
    private func undo() -> Line {
        let undone = undone
        return line(
            "objects undo", undone.count, "one event of so many people, a rollback there; their ages read",
            preparation: { try $0.changeUndoably(undone) }
        ) {
            try $0.undoChanges()
        }
    }

    /// The same changes again; the peer makes them a second time.
    private func redo() -> Line {
        let undone = undone
        return line(
            "objects redo", undone.count, "the same people again, updated again there; their ages read",
            preparation: {
                try $0.changeUndoably(undone)
                _ = try $0.undoChanges()
            }
        ) {
            try $0.redoChanges()
        }
    }

    /// The memory of objects that a program fetches and keeps.
    private func memory() -> Line {
        let types: [any ObjectContender.Type] =
            SQLite.shared == nil ? [EspalierObjects.self] : [EspalierObjects.self, SQLiteObjects.self]
        return Line(
            "objects memory",
            note: "resident memory for each person fetched and kept, every attribute read; cache filled before",
            unit: .bytes, operationCount: count,
            contenders: types.map { type in
                Line.Contender(type.name) {
                    try loaded(type).close()
                    return try ChildRun.start(["keep", type.name, place(of: type)])["memory"] ?? 0
                }
            })
    }

    /// A process that opens a loaded store and fetches one object by an indexed value, against one that does nothing.
    private func start() -> Line {
        let types: [any ObjectContender.Type] =
            SQLite.shared == nil ? [EspalierObjects.self] : [EspalierObjects.self, SQLiteObjects.self]
        var contenders = types.map { type in
            Line.Contender(type.name) {
                try ChildRun.timeOfStarts(["fetch", type.name, unchangedPlace(of: type)])
            }
        }
        contenders.append(Line.Contender("bare process") { try ChildRun.timeOfStarts(["start"]) })
        return Line(
            "start a process, fetch one object", note: "wall clock, open to exit",
            operationCount: ChildRun.startCount, contenders: contenders)
    }

    /// A store with all people, closed and opened again.
    private func loaded(_ type: any ObjectContender.Type) throws -> any ObjectContender {
        try load(type)
        return try type.init(folder: place(of: type))
    }

    /// The store with which a line begins.
    private func opened(
        _ type: any ObjectContender.Type, isLoaded: Bool, changes: Bool
    ) throws -> any ObjectContender {
        if !isLoaded { return try empty(type) }
        if changes { return try loaded(type) }
        return try type.init(folder: unchangedPlace(of: type))
    }

    /// Loads a store and closes it; no reference to it remains, so its memory is free for the next one.
    @inline(never)
    private func load(_ type: any ObjectContender.Type) throws {
        let store = try empty(type)
        try store.fill(people)
        try store.close()
    }

    /// The folder of a store with all people, which no line changes: it is filled once.
    private func unchangedPlace<Contender: ObjectContender>(of type: Contender.Type) throws -> String {
        let place = folder.appendingPathComponent("objects-queries-\(type.name)").path
        if !FileManager.default.fileExists(atPath: place) {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let store = try type.init(folder: place)
            try store.fill(people)
            try store.close()
        }
        return place
    }

    /// A new store.
    private func empty(_ type: any ObjectContender.Type) throws -> any ObjectContender {
        let place = place(of: type)
        try? FileManager.default.removeItem(atPath: place)
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        return try type.init(folder: place)
    }

    private func place(of type: any ObjectContender.Type) -> String {
        folder.appendingPathComponent("objects-\(type.name)").path
    }

    private func line(
        _ name: String, _ operations: Int, _ note: String, isLoaded: Bool = true, changes: Bool = true,
        preparation: @escaping (any ObjectContender) throws -> Void = { _ in },
        _ body: @escaping (any ObjectContender) throws -> Int
    ) -> Line {
        let agreement = Agreement()
        var types: [any ObjectContender.Type] = [EspalierObjects.self]
        if SQLite.shared != nil { types.append(SQLiteObjects.self) }
        return Line(
            name, note: note, operationCount: operations,
            contenders: types.map { type in
                Line.Contender(type.name) {
                    let store = try opened(type, isLoaded: isLoaded, changes: changes)
                    try preparation(store)
                    var sum = 0
                    let time = try nanoseconds { sum = try body(store) }
                    try store.close()
                    try agreement.check(sum)
                    return time
                }
            })
    }
}

/// Checks that all contenders of a line read the same.
final class Agreement {
    private var sum: Int?

    func check(_ sum: Int) throws {
        if let expected = self.sum, expected != sum { throw WrongResult(expected: expected, found: sum) }
        self.sum = sum
    }
}
