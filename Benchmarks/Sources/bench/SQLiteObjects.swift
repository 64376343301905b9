// SQLite's C API as a contender of the object lines: tables, indexes and prepared statements by hand.
//
// Rows carry a version that each update increments, as an object graph needs it for optimistic locking. Work without
// `keeping` steps through the rows, the least possible cost of reading; work with it makes an instance for each row.

import Peers

/// A person as a hand-written program over SQLite holds it.
private final class PersonRecord {
    let key: Int64
    var version: Int64
    let name: String
    var age: Int
    let score: Double
    let email: String
    let team: Int64

    init(key: Int64, version: Int64, name: String, age: Int, score: Double, email: String, team: Int64) {
        (self.key, self.version, self.name, self.age) = (key, version, name, age)
        (self.score, self.email, self.team) = (score, email, team)
    }
}

/// A team, likewise.
private final class TeamRecord {
    let key: Int64
    let name: String

    init(key: Int64, name: String) { (self.key, self.name) = (key, name) }
}

final class SQLiteObjects: SQLiteTables, ObjectContender {
    static let name = "sqlite"
    private var kept: [PersonRecord] = []
    private var changed: [Int] = []

    required init(folder: String) throws {
        try super.init(path: folder + "/objects.sqlite")
        for text in [
            "CREATE TABLE IF NOT EXISTS team(pk INTEGER PRIMARY KEY, version INTEGER, name TEXT)",
            """
            CREATE TABLE IF NOT EXISTS person(pk INTEGER PRIMARY KEY, version INTEGER, name TEXT, age INTEGER,
                score REAL, email TEXT, team INTEGER)
            """,
            "CREATE INDEX IF NOT EXISTS person_email ON person(email)",
            "CREATE INDEX IF NOT EXISTS person_team ON person(team)",
        ] { try connection.execute(text) }
    }

    func insert(_ people: People) throws {
        try connection.execute("BEGIN IMMEDIATE")
        let team = try statement("INSERT INTO team(pk, version, name) VALUES(?, 1, ?)")
        for number in 0..<people.teamCount {
            _ = library.bindInt64(team, 1, Int64(number + 1))
            bind(People.teamName(number), team, 2)
            try connection.run(team)
        }
        let person = try statement(
            "INSERT INTO person(pk, version, name, age, score, email, team) VALUES(?, 1, ?, ?, ?, ?, ?)")
        for number in 0..<people.count {
            _ = library.bindInt64(person, 1, Int64(number + 1))
            bind(People.name(number), person, 2)
            _ = library.bindInt64(person, 3, Int64(People.age(number)))
            _ = library.bindDouble(person, 4, People.score(number))
            bind(People.email(number), person, 5)
            _ = library.bindInt64(person, 6, Int64(people.team(number) + 1))
            try connection.run(person)
        }
        try connection.execute("COMMIT")
    }

    /// All people as objects, each once.
    private func people() throws -> [PersonRecord] {
        let statement = try statement("SELECT pk, version, name, age, score, email, team FROM person")
        var known: [Int64: PersonRecord] = [:]
        var people: [PersonRecord] = []
        while library.step(statement) == SQLite.row {
            let key = library.columnInt64(statement, 0)
            if let person = known[key] {
                people.append(person)
                continue
            }
            let person = PersonRecord(
                key: key, version: library.columnInt64(statement, 1), name: text(statement, 2),
                age: Int(library.columnInt64(statement, 3)), score: library.columnDouble(statement, 4),
                email: text(statement, 5), team: library.columnInt64(statement, 6))
            known[key] = person
            people.append(person)
        }
        _ = library.reset(statement)
        return people
    }

    func fetchFaults(keeping: Bool) throws -> Int {
        if keeping { return try people().count }
        let statement = try statement("SELECT pk, version, name, age, score, email, team FROM person")
        var count = 0
        while library.step(statement) == SQLite.row {
            count &+= library.columnInt64(statement, 0) > 0 ? 1 : 0
        }
        _ = library.reset(statement)
        return count
    }

    func fetchWhole(keeping: Bool) throws -> Int {
        var sum = 0
        if keeping {
            for person in try people() {
                sum &+= person.name.utf8.count &+ person.age
                sum &+= Int(person.score) &+ person.email.utf8.count
            }
            return sum
        }
        let statement = try statement("SELECT pk, version, name, age, score, email, team FROM person")
        while library.step(statement) == SQLite.row {
            sum &+= text(statement, 2).utf8.count &+ Int(library.columnInt64(statement, 3))
            sum &+= Int(library.columnDouble(statement, 4)) &+ text(statement, 5).utf8.count
        }
        _ = library.reset(statement)
        return sum
    }

    func fetchObservable() throws -> Int { try fetchWhole(keeping: false) }

    func fillCache() throws { try connection.execute("SELECT count(*) FROM person WHERE age > 0") }

    func fetchAndKeep() throws -> [AnyObject] { try people() }

    func learnIdentities(_ people: People) throws {}  // person number n has key n + 1

    func faultIn(_ numbers: [Int]) throws -> Int {
        let statement = try statement("SELECT version, name, age, score, email, team FROM person WHERE pk = ?")
        var sum = 0
        for number in numbers {
            _ = library.bindInt64(statement, 1, Int64(number + 1))
            if library.step(statement) == SQLite.row { sum &+= text(statement, 1).utf8.count }
            _ = library.reset(statement)
        }
        return sum
    }

    func fetchByEmail(_ numbers: [Int]) throws -> Int {
        let statement = try statement(
            "SELECT pk, version, name, age, score, email, team FROM person WHERE email = ?")
        var sum = 0
        for number in numbers {
            bind(People.email(number), statement, 1)
            while library.step(statement) == SQLite.row { sum &+= text(statement, 2).utf8.count }
            _ = library.reset(statement)
        }
        return sum
    }

    /// The sum of the ages of the people that `text` selects, after making each of them an object.
    func sumOfAges(_ text: String) throws -> Int {
        let statement = try statement(text)
        var people: [PersonRecord] = []
        while library.step(statement) == SQLite.row {
            people.append(
                PersonRecord(
                    key: library.columnInt64(statement, 0), version: library.columnInt64(statement, 1),
                    name: self.text(statement, 2), age: Int(library.columnInt64(statement, 3)),
                    score: library.columnDouble(statement, 4), email: self.text(statement, 5),
                    team: library.columnInt64(statement, 6)))
        }
        _ = library.reset(statement)
        return people.reduce(0) { $0 &+ $1.age }
    }

    /// The number that `text` selects.
    func count(_ text: String) throws -> Int {
        let statement = try statement(text)
        defer { _ = library.reset(statement) }
        return library.step(statement) == SQLite.row ? Int(library.columnInt64(statement, 0)) : -1
    }

    func walkToTeam(keeping: Bool) throws -> Int {
        keeping ? try walkFromObjects() : try walkFromRows()
    }

    private func walkFromRows() throws -> Int {
        let people = try statement("SELECT team FROM person")
        let team = try statement("SELECT name FROM team WHERE pk = ?")
        var sum = 0
        while library.step(people) == SQLite.row {
            _ = library.bindInt64(team, 1, library.columnInt64(people, 0))
            if library.step(team) == SQLite.row { sum &+= text(team, 0).utf8.count }
            _ = library.reset(team)
        }
        _ = library.reset(people)
        return sum
    }

    private func walkFromObjects() throws -> Int {
        let statement = try statement("SELECT name FROM team WHERE pk = ?")
        var teams: [Int64: TeamRecord] = [:]
        var sum = 0
        for person in try people() {
            if let team = teams[person.team] {
                sum &+= team.name.utf8.count
                continue
            }
            _ = library.bindInt64(statement, 1, person.team)
            if library.step(statement) == SQLite.row {
                let team = TeamRecord(key: person.team, name: text(statement, 0))
                teams[person.team] = team
                sum &+= team.name.utf8.count
            }
            _ = library.reset(statement)
        }
        return sum
    }

    func sums(byTeam: Bool) throws -> Int {
        let key = byTeam ? "team" : "age"
        let statement = try statement("SELECT \(key), count(*), sum(score), sum(age) FROM person GROUP BY \(key)")
        var sum = 0
        while library.step(statement) == SQLite.row {
            sum &+= Int(library.columnInt64(statement, 1)) &+ Int(library.columnDouble(statement, 2) * 8)
            sum &+= Int(library.columnInt64(statement, 3))
        }
        _ = library.reset(statement)
        return sum
    }

    func update() throws {
        try connection.execute("BEGIN IMMEDIATE")
        try makeAllOlder()
        try connection.execute("COMMIT")
    }

    func updateObservable() throws { try update() }

    func updateBesideStatement() throws {
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute("UPDATE person SET age = age + 1, version = version + 1")
        try connection.execute("COMMIT")
    }

    func deleteBesideStatement() throws {
        try connection.execute("BEGIN IMMEDIATE")
        // Without a condition SQLite drops the pages of the table and looks at no row.
        try connection.execute("DELETE FROM person WHERE version > 0")
        try connection.execute("COMMIT")
    }

    func updateTwoLevelsUp() throws {
        try connection.execute("BEGIN IMMEDIATE")
        for level in ["child", "grandchild"] { try connection.execute("SAVEPOINT \(level)") }
        try makeAllOlder()
        for level in ["grandchild", "child"] { try connection.execute("RELEASE \(level)") }
        try connection.execute("COMMIT")
    }

    private func makeAllOlder() throws {
        let select = try statement("SELECT pk, version, age FROM person")
        var rows: [(key: Int64, version: Int64, age: Int64)] = []
        while library.step(select) == SQLite.row {
            rows.append(
                (library.columnInt64(select, 0), library.columnInt64(select, 1), library.columnInt64(select, 2)))
        }
        _ = library.reset(select)
        let update = try statement("UPDATE person SET age = ?, version = version + 1 WHERE pk = ? AND version = ?")
        for row in rows {
            _ = library.bindInt64(update, 1, row.age + 1)
            _ = library.bindInt64(update, 2, row.key)
            _ = library.bindInt64(update, 3, row.version)
            try connection.run(update)
        }
    }

    func keepPeople() throws { kept = try people() }

    func updateEach(of numbers: [Int]) throws {
        let update = try statement("UPDATE person SET age = ?, version = version + 1 WHERE pk = ? AND version = ?")
        for number in numbers {
            let person = kept[number]
            try connection.execute("BEGIN IMMEDIATE")
            _ = library.bindInt64(update, 1, Int64(person.age + 1))
            _ = library.bindInt64(update, 2, person.key)
            _ = library.bindInt64(update, 3, person.version)
            try connection.run(update)
            try connection.execute("COMMIT")
            person.age += 1
            person.version += 1
        }
    }

    func changeUndoably(_ numbers: [Int]) throws {
        try keepPeople()
        changed = numbers
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute("SAVEPOINT before")
        try makeOlder()
    }

    private func makeOlder() throws {
        let update = try statement("UPDATE person SET age = age + 1, version = version + 1 WHERE pk = ?")
        for number in changed {
            _ = library.bindInt64(update, 1, kept[number].key)
            try connection.run(update)
        }
    }

    func undoChanges() throws -> Int {
        try connection.execute("ROLLBACK TO before")
        return try sumOfChanged()
    }

    func redoChanges() throws -> Int {
        try makeOlder()
        return try sumOfChanged()
    }

    private func sumOfChanged() throws -> Int {
        let select = try statement("SELECT age FROM person WHERE pk = ?")
        var sum = 0
        for number in changed {
            _ = library.bindInt64(select, 1, kept[number].key)
            if library.step(select) == SQLite.row { sum &+= Int(library.columnInt64(select, 0)) }
            _ = library.reset(select)
        }
        return sum
    }

    func delete() throws {
        try connection.execute("BEGIN IMMEDIATE")
        let select = try statement("SELECT pk, version FROM person")
        var rows: [(key: Int64, version: Int64)] = []
        while library.step(select) == SQLite.row {
            rows.append((library.columnInt64(select, 0), library.columnInt64(select, 1)))
        }
        _ = library.reset(select)
        let delete = try statement("DELETE FROM person WHERE pk = ? AND version = ?")
        for row in rows {
            _ = library.bindInt64(delete, 1, row.key)
            _ = library.bindInt64(delete, 2, row.version)
            try connection.run(delete)
        }
        try connection.execute("COMMIT")
    }
}
