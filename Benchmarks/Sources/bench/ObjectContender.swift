// The work of each contender of the object lines: the same people, teams and indexes, and one transaction for a save.
//
// Invariants
//   1. A person has a name, an age, a score, an e-mail address (indexed) and a team; teams know their people (an index
//      on the foreign key in SQLite, a relationship in Espalier).
//   2. "Whole" means that every attribute of every object has been read, text as text.
//   3. "Keeping" means that in the end all people are objects in an array, each once, found by key. Without it, each is
//      seen in its turn and released: rows that are stepped through, against objects.

/// The objects of a line: the values of person number `i`.
struct People {
    /// The number of people in one transaction, where rows are only needed and not measured.
    static let portionCount = 100_000

    let count: Int
    var teamCount: Int { max(1, count / 100) }

    static func name(_ i: Int) -> String { "Person number \(i) of the benchmark" }
    static func age(_ i: Int) -> Int { 18 + i % 70 }
    static func score(_ i: Int) -> Double { Double(i % 1000) / 8 }
    static func email(_ i: Int) -> String { "person\(i)@example.org" }
    static func number(ofEmail email: String) -> Int? { Int(email.dropFirst("person".count).prefix { $0 != "@" }) }
    func team(_ i: Int) -> Int { i % teamCount }
    static func teamName(_ i: Int) -> String { "Team \(i)" }
}

/// A store of people and teams.
protocol ObjectContender: AnyObject {
    static var name: String { get }
    /// Creates or opens the store in `folder`.
    init(folder: String) throws
    /// Inserts all teams and people and saves them in one transaction.
    func insert(_ people: People) throws
    /// Inserts all teams and people, in transactions of at most `People.portionCount` people, so that the memory is
    /// that of one of them.
    func fill(_ people: People) throws
    /// Visits all people without reading any attribute; returns their number.
    func fetchFaults(keeping: Bool) throws -> Int
    /// Visits all people and reads every attribute; returns a sum over them.
    func fetchWhole(keeping: Bool) throws -> Int
    /// Visits all people and reads every attribute where observers could follow objects and none does; returns a sum.
    func fetchObservable() throws -> Int
    /// Reads the identity of each person, outside the clock.
    func learnIdentities(_ people: People) throws
    /// Reads the name of each of these people, addressed by identity, one by one.
    func faultIn(_ numbers: [Int]) throws -> Int
    /// Fetches each of these people by e-mail address.
    func fetchByEmail(_ numbers: [Int]) throws -> Int
    /// Reads the team's name of every person.
    func walkToTeam(keeping: Bool) throws -> Int
    /// Adds up scores and ages of the people of each age, or of each team; returns a sum over the groups.
    func sums(byTeam: Bool) throws -> Int
    /// Makes every person a year older, in one transaction.
    func update() throws
    /// Makes every person a year older, in one transaction: by an object each, beside one statement for all rows.
    func updateBesideStatement() throws
    /// Deletes all people, in one transaction: by an object each, beside one statement for all rows.
    func deleteBesideStatement() throws
    /// Makes every person a year older, in one transaction, where observers could follow objects and none does.
    func updateObservable() throws
    /// Makes every person a year older two levels above the store: in the child of a child of a context, and saves at
    /// each level; in a savepoint within a savepoint of one transaction.
    func updateTwoLevelsUp() throws
    /// Fetches all people and keeps them, every attribute read, outside the clock.
    func keepPeople() throws
    /// Makes some of the people that are kept a year older, each in a transaction of its own.
    func updateEach(of numbers: [Int]) throws
    /// Makes some of the people that are kept a year older in a way that can be undone, outside the clock.
    func changeUndoably(_ numbers: [Int]) throws
    /// Undoes the changes of `changeUndoably`, all at once; returns the sum of the ages of those people.
    func undoChanges() throws -> Int
    /// Makes those people a year older again; returns the sum of their ages.
    func redoChanges() throws -> Int
    /// Deletes all people, in one transaction.
    func delete() throws
    /// Reads every person's row without keeping anything, so that the cache is filled.
    func fillCache() throws
    /// Fetches all people, reads every attribute and returns references that keep the objects in memory.
    func fetchAndKeep() throws -> [AnyObject]
    /// Closes the store as an application would.
    func close() throws
}

extension ObjectContender {
    /// A contender whose rows are in no memory before the transaction needs one.
    func fill(_ people: People) throws { try insert(people) }
}
