// The classes of these tests, and a folder with their objects.

import Espalier
import Foundation

@Entity final class Author: ManagedObject {
    var name: String?
    var books: ToMany<Book>
}

@Entity final class Book: ManagedObject {
    var title: String?
    var year: Int32?
    @Relationship(inverse: \Author.books) var author: Author?
}

/// Authors and their books.
let libraryClasses: [ManagedObject.Type] = [Author.self, Book.self]

/// A folder that is removed at the end.
final class LibraryFolder {
    let url: URL
    let identifier = UUID()

    /// - Parameter files: the contents by path; the default ones are three authors and four books.
    init(_ files: [String: String] = LibraryFolder.files) throws {
        url = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try write(identifier.uuidString + "\n", to: "identifier")
        for (path, text) in files { try write(text, to: path) }
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func write(_ text: String, to path: String) throws {
        let file = url.appending(path: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    static let files = [
        "Author/Ursula.json": #"{"name": "Ursula K. Le Guin", "books": ["dispossessed", "left hand"]}"#,
        "Author/Stanisław.json": #"{"name": "Stanisław Lem", "version": 7, "books": ["solaris", "pokój 100%"]}"#,
        "Author/nobody.json": "{}",
        "Book/dispossessed.json": #"{"title": "The Dispossessed", "year": 1974, "author": "Ursula"}"#,
        "Book/left hand.json": #"{"title": "The Left Hand of Darkness", "year": 1969, "author": "Ursula"}"#,
        "Book/solaris.json": #"{"title": "Solaris", "year": 1961, "author": "Stanisław"}"#,
        "Book/pokój 100%.json": #"{"title": "Pokój nr 100", "year": 1961, "author": "Stanisław"}"#,
    ]
}
