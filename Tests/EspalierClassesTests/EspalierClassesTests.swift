// The classes that the build plug-in has made of the model files in this folder.

import Espalier
import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct EspalierClassesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    @Test func `classes of a model file are made in the build, and have its current version's hashes`() throws {
        let file = try ManagedObjectModel(contentsOf: Self.folder.appending(path: "Shelf.xcdatamodeld"))
        let model = try ManagedObjectModel(for: [Work.self, Book.self, Reader.self])

        #expect(file.versionIdentifiers == ["2"])
        #expect(model.entityVersionHashesByName == file.entityVersionHashesByName)
    }

    @MainActor @Test func `objects of classes that a build has made are saved and found again`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "shelf.espalier").path
            let classes: [ManagedObject.Type] = [Work.self, Book.self, Reader.self]
            let container = try PersistentContainer(for: classes, at: path)
            let context = container.viewContext
            let (book, other) = (Book(context: context), Book(context: context))
            (book.title, book.pages, other.title, other.pages) = ("Ulysses", 732, "Emma", 474)
            let reader = Reader(context: context)
            reader.name = "Ünal"
            reader.books = [other, book]
            try context.save()
            try container.close()

            let again = try PersistentContainer(for: classes, at: path)
            let request = FetchRequest<Reader>(try FetchPredicate(format: "ANY books.pages > 700"))
            let titles = try again.viewContext.fetch(request).first?.books.map(\.title)
            #expect(titles == ["Emma", "Ulysses"])
            try again.close()
        }
    }

    @Test func `a model file in a folder below the target's counts, and names beyond ASCII stay`() throws {
        let notes = try ManagedObjectModel(for: [Notiz.self])

        #expect(notes.entity(named: "Notiz")?.attributes.map(\.name) == ["größe"])
    }

    @Test func `a model that cannot be read ends the build with the place and the reason, and writes no source`() throws
    {
        try withTemporaryFolder { folder in
            let (model, output) = (folder.appending(path: "A.xcdatamodel"), folder.appending(path: "A.swift"))
            try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
            try Data("<model><entity name='A'>".utf8).write(to: model.appending(path: "contents"))
            let (code, text) = try write(model, output)

            #expect(code == 1)
            #expect(text.hasPrefix("error: ") && text.contains("A.xcdatamodel/contents: line 1"), "\(text)")
            #expect(!FileManager.default.fileExists(atPath: output.path))
        }
    }

    @Test func `what classes do not have is a warning, and a source that would be the same is left alone`() throws {
        try withTemporaryFolder { folder in
            let (model, output) = (folder.appending(path: "A.xcdatamodel"), folder.appending(path: "A.swift"))
            try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
            let xml = "<model><entity name='A' versionHashModifier='x'><attribute name='n' attributeType='String'/>"
            let own = "<userInfo><entry key='k' value='v'/></userInfo>"
            try Data("\(xml)\(own)</entity></model>".utf8).write(to: model.appending(path: "contents"))
            let (code, text) = try write(model, output)
            let past = Date(timeIntervalSinceReferenceDate: 1000)
            try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: output.path)
            _ = try write(model, output)

            #expect(code == 0 && text.contains("warning: \(model.path): the user info of 'A'"), "\(text)")
            let source = try String(contentsOf: output, encoding: .utf8)
            #expect(source.contains("@Entity(hashModifier: \"x\")\nfinal class A: ManagedObject"))
            let date = try FileManager.default.attributesOfItem(atPath: output.path)[.modificationDate]
            #expect(date as? Date == past)
        }
    }

    /// Runs the program behind the plug-in, which the build puts beside the tests.
    private func write(_ model: URL, _ output: URL) throws -> (code: Int32, text: String) {
        let program = Checkout.products.appending(path: "EspalierClassWriter").path
        let run = try Command(program, [model.path, output.path])
        return (run.code, run.output + run.errors)
    }
}
