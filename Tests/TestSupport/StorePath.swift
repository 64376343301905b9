// Paths of stores in temporary folders that are removed after the test.

import Foundation

/// Calls `body` with the path of a store that does not exist yet, then removes the folder made for it.
package func withStorePath<R>(_ body: (String) throws -> R) throws -> R {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("espalier-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(folder.appendingPathComponent("test.espalier").path)
}

/// The numbers of the owner and of the group of a file.
package func fileOwner(of path: String) throws -> [String] {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let keys: [FileAttributeKey] = [.ownerAccountID, .groupOwnerAccountID]
    return keys.map { key in attributes[key].map { "\($0)" } ?? "none" }
}

/// The UTF-8 bytes of a text.
package func bytes(_ text: String) -> [UInt8] { [UInt8](text.utf8) }
