// A store as another package would write it: a folder of JSON files, one for each object, which is only read.
//
// `FOLDER/Author/Ursula.json` is the row of entity Author that is known as "Ursula". A relationship has the names of
// its destinations: one, or a list. The article "Stores of your own" has this code, and a test compares the two.

import Espalier
import Foundation
import Synchronization

/// A folder of JSON files, which are read when their objects are.
final class FolderSource: IncrementalSource, IncrementalReader {
    private let folder: URL
    private let model: ManagedObjectModel
    /// The UUID in `FOLDER/identifier`: the folder has it wherever it is moved.
    let identifier: UUID
    /// How many files of objects were read.
    private let readCount = Atomic(0)

    init(_ folder: URL, model: ManagedObjectModel) throws {
        (self.folder, self.model) = (folder, model)
        let text = try String(contentsOf: folder.appending(path: "identifier"), encoding: .utf8)
        guard let identifier = UUID(uuidString: text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw FolderError("\(folder.path)/identifier has no UUID")
        }
        self.identifier = identifier
    }

    var path: String? { folder.path }
    /// How many files of objects were read so far.
    var fileCount: Int { readCount.load(ordering: .relaxed) }

    func makeReader() throws -> any IncrementalReader { self }

    /// The names of files say which rows there are; values are not looked at, so the store filters and sorts.
    func find(_ query: IncrementalQuery) throws -> FoundRows {
        let ids = try query.entities(in: model).flatMap { entity in
            try names(of: entity).map { ObjectID(.text($0), of: entity, inStore: identifier) }
        }
        return FoundRows(ids: ids)
    }

    func rows(_ ids: [ObjectID]) throws -> [ObjectSnapshot?] { try ids.map(row) }

    func destinations(of relationship: Relationship, for owner: ObjectID) throws -> [ObjectID] {
        guard let names = try object(owner)?[relationship.name] as? [String] else { return [] }
        return names.map { id($0, relationship) }
    }
}

extension FolderSource {
    private func names(of entity: Entity) throws -> [String] {
        let files = try? FileManager.default.contentsOfDirectory(
            at: folder.appending(path: entity.name), includingPropertiesForKeys: nil)
        return (files ?? []).filter { $0.pathExtension == "json" }.map { $0.deletingPathExtension().lastPathComponent }
    }

    private func id(_ name: String, _ relationship: Relationship) -> ObjectID {
        ObjectID(.text(name), of: model.destination(of: relationship), inStore: identifier)
    }

    /// The contents of the file of an object; `nil` if there is none.
    private func object(_ id: ObjectID) throws -> [String: Any]? {
        guard case .text(let name)? = id.reference, !name.contains("/") else { return nil }
        let file = folder.appending(path: id.entityName).appending(path: name + ".json")
        guard let data = try? Data(contentsOf: file) else { return nil }
        readCount.add(1, ordering: .relaxed)
        guard let object = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
            throw FolderError("\(file.path) is no JSON object")
        }
        return object
    }

    private func row(_ id: ObjectID) throws -> ObjectSnapshot? {
        guard let entity = model.entity(named: id.entityName), let object = try object(id) else { return nil }
        var (values, destinations) = ([String: AttributeValue](), [String: ObjectID]())
        for attribute in entity.attributes {
            switch object[attribute.name] {
            case nil: continue
            case let text as String: values[attribute.name] = .string(text)
            case let number as NSNumber: values[attribute.name] = .integer(number.int64Value)
            case let value?: throw FolderError("\(attribute.name) of \(id) cannot be \(value)")
            }
        }
        for relationship in entity.relationships where !relationship.isToMany {
            guard let name = object[relationship.name] as? String else { continue }
            destinations[relationship.name] = self.id(name, relationship)
        }
        let version = (object["version"] as? NSNumber)?.uint64Value ?? 1
        return try ObjectSnapshot(id: id, version: version, of: entity, values: values, destinations: destinations)
    }
}

/// A folder that is none of ours, or a file in it.
struct FolderError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
