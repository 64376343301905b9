// Drawers of papers, with attributes that are indexed in all ways: the model of the tests of growth.

import Espalier
import Foundation
import Synchronization

final class Drawer: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Drawer",
            properties: [
                EntityDescription._property("code", String.self, defaultValue: "", options: .init(isIndexed: true)),
                EntityDescription._property("papers", ToMany<Paper>.self, options: .init(inverse: "drawer")),
            ])
    }
    var code: String {
        get { _get("code", at: 0) }
        set { _set("code", at: 0, newValue) }
    }
    var papers: ToMany<Paper> {
        get { _get("papers", at: 1) }
        set { _set("papers", at: 1, newValue) }
    }
}

final class Paper: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Paper",
            properties: [
                EntityDescription._property("number", Int.self, defaultValue: 0),
                EntityDescription._property("code", String.self, defaultValue: "", options: .init(isIndexed: true)),
                EntityDescription._property("kind", Int.self, defaultValue: 0, options: .init(isIndexed: true)),
                EntityDescription._property("note", String.self, defaultValue: "", options: .init(isIndexed: true)),
                EntityDescription._property("drawer", Drawer?.self, options: .init(inverse: "papers")),
                EntityDescription._property("author", Author?.self, options: .init(inverse: "papers")),
            ])
    }
    var number: Int {
        get { _get("number", at: 0) }
        set { _set("number", at: 0, newValue) }
    }
    var code: String {
        get { _get("code", at: 1) }
        set { _set("code", at: 1, newValue) }
    }
    var kind: Int {
        get { _get("kind", at: 2) }
        set { _set("kind", at: 2, newValue) }
    }
    var note: String {
        get { _get("note", at: 3) }
        set { _set("note", at: 3, newValue) }
    }
    var drawer: Drawer? {
        get { _get("drawer", at: 4) }
        set { _set("drawer", at: 4, newValue) }
    }
    var author: Author? {
        get { _get("author", at: 5) }
        set { _set("author", at: 5, newValue) }
    }
}

final class Author: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Author",
            properties: [
                EntityDescription._property("name", String.self, defaultValue: ""),
                EntityDescription._property("papers", ToMany<Paper>.self, options: .init(inverse: "author")),
            ])
    }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var papers: ToMany<Paper> {
        get { _get("papers", at: 1) }
        set { _set("papers", at: 1, newValue) }
    }
}

/// All classes of the model.
let paperClasses: [ManagedObject.Type] = [Drawer.self, Paper.self, Author.self]

extension Stack {
    /// A store of `count` drawers with one paper each.
    ///
    /// Paper i has `code` "c" and i with six digits, `kind` i mod 10 and `note` "n" and i with six digits. The notes of
    /// the two papers in the middle are longer and share more than their first 1,000 letters.
    ///
    /// - Parameter haveAuthors: whether each paper has an author of its own.
    static func ofPapers(_ count: Int, haveAuthors: Bool = false) throws -> Stack {
        let file = try madeFiles.withLock { files in
            let kind = PaperFile(count: count, haveAuthors: haveAuthors)
            if let file = files[kind] { return file }
            let file = try makePapers(count, haveAuthors: haveAuthors).closedFile()
            files[kind] = file
            return file
        }
        return try Stack(.btree, classes: paperClasses, file: file)
    }

    private struct PaperFile: Hashable {
        let count: Int
        let haveAuthors: Bool
    }

    /// The files of stores of papers, of which each test gets a copy: to make one takes seconds in a debug build.
    private static let madeFiles = Mutex<[PaperFile: Data]>([:])

    private static func makePapers(_ count: Int, haveAuthors: Bool) throws -> Stack {
        let stack = try Stack(.btree, classes: paperClasses)
        let context = stack.newContext()
        for number in 0..<count {
            let (drawer, paper) = (Drawer(context: context), Paper(context: context))
            drawer.code = Self.code("s", number)
            (paper.number, paper.code, paper.kind) = (number, Self.code("c", number), number % 10)
            paper.note = Self.code("n", number)
            if number == count / 2 { paper.note += String(repeating: "x", count: 1000) + "b" }
            if number == count / 2 + 1 {
                paper.note = Self.code("n", count / 2) + String(repeating: "x", count: 1000) + "a"
            }
            paper.drawer = drawer
            if haveAuthors { paper.author = Author(context: context) }
        }
        try context.save()
        return stack
    }

    static func code(_ letter: String, _ number: Int) -> String {
        let digits = "\(number)"
        return letter + String(repeating: "0", count: 6 - digits.count) + digits
    }
}
