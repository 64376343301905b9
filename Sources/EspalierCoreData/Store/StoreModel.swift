// The model of a store: that of the caller, if the store was written with it, or the one that the store keeps.
//
// Core Data's version hashes cannot be computed, but a store has the very model that it was written with: two models
// have equal hashes of ours exactly where Core Data's are equal (Behaviour MD-05), so those are compared.

import EspalierModel
import EspalierModelFile
import FoundationEssentials

/// A model and what the import has to know of it besides.
struct StoreModel {
    let model: ManagedObjectModel
    /// The features of the model that Espalier does not have, one sentence each.
    let notes: [String]
    /// The attributes, as `Entity.attribute`, whose values may be in files of their own.
    let externalAttributes: Set<String>
    /// The relationships, as `Entity.relationship`, that are not stored.
    let transientRelationships: Set<String>

    /// The model of `document`, or of the store itself.
    init(
        _ document: ModelDocument?, cached: Result<ModelDocument, CoreDataImportError>?, hashedEntities: Set<String>,
        path: String
    ) throws(CoreDataImportError) {
        var known = document
        if known == nil { known = try cached?.get() }
        guard let used = known else {
            throw .noModel(path: path, reason: "the store does not contain it; name the model file")
        }
        model = try Self.model(of: used)
        notes = try Self.conversion(of: used).unsupported.map(\.description)
        var external = Self.externalAttributes(used)
        if document != nil, case .success(let cached)? = cached {
            try Self.compare(model, with: try Self.model(of: cached), path: path)
            external = Self.externalAttributes(cached)
        }
        externalAttributes = external
        transientRelationships = Self.properties(used, .relationship) { $0["transient"] == "YES" }
        guard !hashedEntities.isEmpty else { return }
        let names = Set(model.entities.map(\.name))
        let missing = hashedEntities.subtracting(names).sorted()
        guard missing.isEmpty else {
            throw .otherModel(
                path: path, entities: missing,
                reason: "the model does not have these entities; give the model that the store was written with")
        }
        let isConfiguration = model.configurations.contains { Set($0.entities) == hashedEntities }
        let surplus = names.subtracting(hashedEntities).sorted()
        guard surplus.isEmpty || isConfiguration else {
            throw .otherModel(
                path: path, entities: surplus,
                reason: "the store was written without these entities; give the model that it was written with")
        }
    }

    /// The document in the bytes of Z_MODELCACHE: an archive of the model, mostly compressed.
    static func document(cached bytes: [UInt8], path: String) -> Result<ModelDocument, CoreDataImportError> {
        let name = "\(path): Z_MODELCACHE"
        do {
            let isPlain = bytes.starts(with: Array("bplist".utf8))
            let archive =
                isPlain ? bytes : try Inflation.inflate(bytes, byteCountMax: ModelDocument.byteCountMax)
            return .success(try ModelDocument(compiled: Data(archive), path: name))
        } catch let error as ModelFileError {
            return .failure(.model(error))
        } catch let error as InflationError {
            return .failure(.noModel(path: name, reason: "byte \(error.byteOffset): \(error.message)"))
        } catch {
            return .failure(.noModel(path: name, reason: "\(error)"))
        }
    }

    private static func conversion(of document: ModelDocument) throws(CoreDataImportError) -> ModelConversion {
        do throws(ModelFileError) { return try document.conversion() } catch { throw .model(error) }
    }

    private static func model(of document: ModelDocument) throws(CoreDataImportError) -> ManagedObjectModel {
        do throws(ModelFileError) {
            return try ManagedObjectModel(document, ignoring: Set(ModelFeature.allCases))
        } catch {
            throw .model(error)
        }
    }

    private static func compare(
        _ given: ManagedObjectModel, with stored: ManagedObjectModel, path: String
    ) throws(CoreDataImportError) {
        let (left, right) = (given.entityVersionHashesByName, stored.entityVersionHashesByName)
        let different = right.keys.filter { left[$0] != right[$0] }.sorted()
        guard different.isEmpty else {
            throw .otherModel(
                path: path, entities: different,
                reason: "the store has another version of these entities; give that version of the model "
                    + "(NAME.xcdatamodeld/VERSION.xcdatamodel), or none to use the model in the store")
        }
    }

    private static func externalAttributes(_ document: ModelDocument) -> Set<String> {
        properties(document, .attribute) { $0["allowsExternalBinaryDataStorage"] == "YES" }
    }

    /// The properties of one kind that satisfy a condition, as `Entity.property`.
    private static func properties(
        _ document: ModelDocument, _ kind: ModelElement.Kind, where isWanted: (ModelElement) -> Bool
    ) -> Set<String> {
        var names: Set<String> = []
        for entity in document.root.children(.entity) {
            for property in entity.children(kind) where isWanted(property) {
                names.insert("\(entity["name"] ?? "").\(property["name"] ?? "")")
            }
        }
        return names
    }
}
