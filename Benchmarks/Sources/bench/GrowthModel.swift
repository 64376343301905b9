// The model of `bench --growth`: shelves of papers, with attributes that are indexed in all ways and relationships of
// all kinds.

import Espalier
import Foundation

@Entity final class Shelf: ManagedObject {
    @Attribute(.indexed) var code: String = ""
    @Relationship(inverse: \Paper.shelf) var papers: ToMany<Paper>
    @Relationship(inverse: \Paper.list) var listed: OrderedToMany<Paper>
    @Relationship(inverse: \Paper.home) var holdings: ToMany<Paper>
}

@Entity final class Topic: ManagedObject {
    var name: String = ""
    @Relationship(inverse: \Paper.topics) var papers: ToMany<Paper>
}

@Entity final class Paper: ManagedObject {
    var number: Int = 0
    var touched: Int = 0
    var word: String = ""
    var weight: Double = 0
    var made: Date?
    var isOpen: Bool = false
    @Attribute(.unique) var key: String = ""
    @Attribute(.indexed) var code: String = ""
    @Attribute(.indexed) var kind: Int = 0
    @Attribute(.indexed) var note: String = ""
    var shelf: Shelf?
    var list: Shelf?
    var home: Shelf?
    var topics: ToMany<Topic>
}

/// A store of papers, in a folder of its own.
final class PaperStore {
    let coordinator: PersistentStoreCoordinator
    let count: Int
    private let store: any PersistentStore
    let folder: URL
    private var contexts: [ManagedObjectContext] = []
    private var labelStore: LabelStore?

    /// Makes a store of `count` shelves with one paper each; the first shelf lists all papers in order and is the home
    /// of all of them, and one topic has all of them.
    convenience init(_ count: Int, in parent: URL) throws {
        try self.init(count, of: parent.appendingPathComponent("growth-\(UUID().uuidString)"))
    }

    /// Opens the store in `folder`, or makes it there.
    init(_ count: Int, of folder: URL) throws {
        let model = try ManagedObjectModel(for: [Shelf.self, Topic.self, Paper.self])
        let path = folder.path + "/papers.espalier"
        let isNew = !FileManager.default.fileExists(atPath: path)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        store = try BTreeStore.open(path: path, model: model)
        coordinator.add(store)
        (self.count, self.folder) = (count, folder)
        if isNew { try fill() }
    }

    private func fill() throws {
        let context = context()
        Self.fill(context, count)
        try context.save()
        forgetContexts()
    }

    /// Makes `count` shelves with one paper each, of which the first shelf and one topic have all.
    static func fill(_ context: ManagedObjectContext, _ count: Int) {
        let topic = Topic(context: context)
        topic.name = "all"
        var papers: [Paper] = []
        for number in 0..<count {
            let (shelf, paper) = (Shelf(context: context), Paper(context: context))
            shelf.code = code("s", number)
            fill(paper, number, of: count)
            paper.shelf = shelf
            papers.append(paper)
        }
        papers[0].shelf?.listed.append(contentsOf: papers)
        papers[0].shelf?.holdings.formUnion(papers)
        topic.papers.formUnion(papers)
    }

    /// Gives a paper its values.
    static func fill(_ paper: Paper, _ number: Int, of count: Int) {
        (paper.number, paper.word, paper.kind) = (number, "word number \(number)", number % 10)
        (paper.key, paper.code, paper.note) = (code("k", number), code("c", number), code("n", number))
        paper.weight = Double(number) / 8
        paper.made = number.isMultiple(of: 3) ? nil : Date(timeIntervalSinceReferenceDate: Double(number))
        paper.isOpen = number.isMultiple(of: 2)
        // One value is longer than an index entry can hold.
        if number == count / 2 { paper.note += String(repeating: "x", count: 1000) }
    }

    static func code(_ letter: String, _ number: Int) -> String {
        let digits = "\(number)"
        return letter + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    /// A new context, which lives until `forgetContexts`.
    func context() -> ManagedObjectContext {
        contexts.append(ManagedObjectContext(coordinator))
        return contexts[contexts.count - 1]
    }

    func forgetContexts() {
        contexts = []
        labelStore?.forgetContexts()
    }

    /// The store of labels beside this one, of as many objects; the first call makes it.
    func labels() throws -> LabelStore {
        if let labelStore { return labelStore }
        let made = try LabelStore(count, in: folder)
        labelStore = made
        return made
    }

    func close() throws {
        forgetContexts()
        try labelStore?.close()
        try store.close()
        try FileManager.default.removeItem(at: folder)
    }
}
