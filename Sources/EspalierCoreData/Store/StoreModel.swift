// The model of a store: that of the caller, if the store was written with it, or the one that the store keeps.
//
// Core Data's version hashes cannot be computed, but a store has the very model that it was written with: two models
// have equal hashes of ours exactly where Core Data's are equal (Behaviour MD-05), so those are compared.
//
// Invariants
//   1. A property of the store's own model that its archive describes in part only is compared by what is known of it:
//      a composite without its parts by its name and type, a derived attribute without its expression by all but
//      whether it is optional.

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
    /// Whether the model is the one that the store keeps, or was compared with it.
    let isStoresOwn: Bool

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
        var notes = try Self.conversion(of: used).unsupported.map(\.description)
        var external = Self.externalAttributes(used)
        var isStoresOwn = document == nil
        if document != nil, case .success(let cached)? = cached {
            do throws(CoreDataImportError) {
                let stored = try Self.model(of: cached)
                try Self.compare(model, with: stored, cached, path: path)
                isStoresOwn = true
            } catch {
                // A model that has no meaning here says nothing against the given one.
                if case .otherModel = error { throw error }
                notes.append("the given model could not be compared with the one in the store: \(error)")
            }
            external = Self.externalAttributes(cached)
        }
        (self.notes, self.isStoresOwn) = (notes, isStoresOwn)
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
        _ given: ManagedObjectModel, with stored: ManagedObjectModel, _ document: ModelDocument, path: String
    ) throws(CoreDataImportError) {
        let partless = properties(document, .attribute) {
            $0["attributeType"] == "Composite" && $0["composite"] == nil
        }
        let derived = properties(document, .attribute) { $0["derived"] == "YES" }.filter { name in
            stored.entities.contains { entity in
                entity.description.attributes.contains {
                    "\(entity.name).\($0.name)" == name && $0.derivation == nil
                }
            }
        }
        let composites = given.entities.flatMap { entity in
            entity.description.attributes.filter { $0.type == .composite }.map { "\(entity.name).\($0.name)" }
        }
        let left = try hashes(of: given, without: partless, optional: derived, path: path)
        let right = try hashes(of: stored, without: partless, optional: derived, path: path)
        let lost = Set(partless.subtracting(composites).map { String($0.prefix { $0 != "." }) })
        let different = right.keys.filter { left[$0] != right[$0] || lost.contains($0) }.sorted()
        guard different.isEmpty else {
            throw .otherModel(
                path: path, entities: different,
                reason: "the store has another version of these entities; give that version of the model "
                    + "(NAME.xcdatamodeld/VERSION.xcdatamodel), or none to use the model in the store")
        }
    }

    /// The version hashes of a model's entities, without the properties that the store's own model describes in part.
    private static func hashes(
        of model: ManagedObjectModel, without partless: Set<String>, optional derived: Set<String>, path: String
    ) throws(CoreDataImportError) -> [String: [UInt8]] {
        guard !partless.isEmpty || !derived.isEmpty else { return model.entityVersionHashesByName }
        var entities = model.descriptions
        for place in entities.indices {
            let owner = entities[place].name
            // These may name a property that is left out here, and no hash includes them.
            (entities[place].indexes, entities[place].fetchedProperties) = ([], [])
            entities[place].attributes.removeAll { partless.contains("\(owner).\($0.name)") && $0.type == .composite }
            for slot in entities[place].attributes.indices {
                entities[place].attributes[slot].derivation = nil
                if derived.contains("\(owner).\(entities[place].attributes[slot].name)") {
                    entities[place].attributes[slot].isOptional = true
                }
            }
        }
        do throws(ModelError) {
            return try ManagedObjectModel(entities: entities).entityVersionHashesByName
        } catch {
            throw .noModel(path: path, reason: "without its composites \(error)")
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
