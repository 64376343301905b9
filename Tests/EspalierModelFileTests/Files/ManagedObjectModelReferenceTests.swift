// References to models by file, by name and as values: the model that is found, or an error that names the version
// found.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct ManagedObjectModelReferenceTests {
    @Test func `a reference gives the model of its checksum, and no other`() throws {
        try withTemporaryFolder { folder in
            let url = folder.appending(path: "Shop.xcdatamodel")
            let reference = { (checksum: String) in
                ManagedObjectModelReference(contentsOf: url, versionChecksum: checksum)
            }
            let model = try ManagedObjectModel(entities: [EntityDescription("A")])
            let checksum = model.versionChecksum
            let other = try ManagedObjectModel(entities: [EntityDescription("B")]).versionChecksum
            #expect(throws: ModelFileError.self) { try reference(checksum).resolvedModel() }
            try ModelDocument(model).write(to: url)
            let library = try ModelLibrary(folders: [folder])

            #expect(try reference(checksum).resolvedModel().entities.map(\.name) == ["A"])
            for (reference, path) in [
                (reference(other), url.path),
                (ManagedObjectModelReference(named: "Shop", in: library, versionChecksum: other), url.path),
                (ManagedObjectModelReference(model, versionChecksum: other), "the model"),
            ] {
                let error = try #require(throws: ModelFileError.self) { try reference.resolvedModel() }
                #expect(error.problems.map(\.kind) == [.otherVersion])
                #expect(
                    error.description
                        == "\(path): the model has the checksum \(checksum), not \(other), so it is another version")
            }
            let named = ManagedObjectModelReference(named: "Shop", in: library, versionChecksum: checksum)
            #expect(try named.resolvedModel().versionChecksum == checksum)
            #expect(try ManagedObjectModelReference(model, versionChecksum: checksum).resolvedModel() === model)
        }
    }
}
