// The versions of models of other projects, oldest first, as their model files describe them.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport

enum RealVersions {
    /// The folder of the model files.
    static var models: URL { Checkout.root.appending(path: "Tests/EspalierModelFileTests/Models") }

    /// The paths of the versions of models that have several, oldest first.
    static let chains: [[String]] = [
        [""] + (2...6).map { " \($0)" }, [""] + (2...4).map { " \($0)" }, (1...3).map { " \($0)" },
        [""] + (2...6).map { " \($0)" }, [".V1", ".V2"], ["", ".V2"],
    ].enumerated().map { number, endings in
        let names = [
            "duckduckgo+BrowserServicesKit/BookmarksModel.xcdatamodeld/BookmarksModel",
            "duckduckgo+BrowserServicesKit/SyncMetadata.xcdatamodeld/SyncMetadata",
            "jessesquires+JSQCoreDataKit/ExampleModel.xcdatamodeld/Version",
            "objcio+core-data/Moody.xcdatamodeld/Moody",
            "JohnEstropia+CoreStore/Advanced.EvolutionDemo.V1.xcdatamodeld/Advanced.EvolutionDemo",
            "JohnEstropia+CoreStore/Advanced.EvolutionDemo.xcdatamodeld/Advanced.EvolutionDemo",
        ]
        return endings.map { "\(names[number])\($0).xcdatamodel" }
    }

    static func model(_ path: String) throws -> ManagedObjectModel {
        try ManagedObjectModel(contentsOf: models.appending(path: path), ignoring: Set(ModelFeature.allCases))
    }

    /// A version between two ones: rows of the older one may lack relationships that the newer one requires.
    static func between(_ older: ManagedObjectModel, _ newer: ManagedObjectModel) throws -> ManagedObjectModel {
        try ManagedObjectModel(
            entities: newer.descriptions.map { entity in
                var entity = entity
                for slot in entity.relationships.indices where !entity.relationships[slot].isOptional {
                    let relationship = entity.relationships[slot]
                    let name = relationship.renamingIdentifier ?? relationship.name
                    let former = older.entity(named: entity.name).flatMap {
                        $0.relationship(named: relationship.name) ?? $0.relationship(named: name)
                    }
                    entity.relationships[slot].isOptional = former?.isOptional ?? true
                }
                return entity
            })
    }
}
