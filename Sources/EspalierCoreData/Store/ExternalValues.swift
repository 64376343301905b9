// Values of attributes that may lie in files beside the store.
//
// Facts, as stores show them
//   1. The first byte of such a value is 1 if the value follows, and 2 if the name of a file follows: a UUID as text,
//      and a zero byte.
//   2. The files of `NAME.sqlite` lie in `.NAME_SUPPORT/_EXTERNAL_DATA` beside it.
//
// Invariants
//   1. A name leads to no other folder, and only regular files of at most `byteCountMax` bytes are read.

import EspalierModel
import FoundationEssentials

/// The files beside a store.
struct ExternalValues {
    static let byteCountMax = 1 << 30

    private let folder: URL

    init(ofStoreAt path: String) {
        let store = URL(filePath: path)
        let name = store.deletingPathExtension().lastPathComponent
        folder = store.deletingLastPathComponent().appending(path: ".\(name)_SUPPORT/_EXTERNAL_DATA")
    }

    /// The value in the bytes of a column.
    func value(_ bytes: [UInt8]) throws(ColumnValueError) -> [UInt8] {
        switch bytes.first {
        case 1: return Array(bytes.dropFirst())
        case 2: return try content(ofFile: bytes.dropFirst().prefix { $0 != 0 })
        case nil: return []
        case let mark?: throw ColumnValueError(.externalFile, "the value begins with \(mark), not with 1 or 2")
        }
    }

    private func content(ofFile name: ArraySlice<UInt8>) throws(ColumnValueError) -> [UInt8] {
        guard let text = String(validating: name, as: UTF8.self), UUID(uuidString: text) != nil else {
            throw ColumnValueError(.externalFile, "the name of the value's file is not a UUID")
        }
        let file = folder.appending(path: text)
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file.path),
            attributes[.type] as? FileAttributeType == .typeRegular
        else { throw ColumnValueError(.externalFile, "the value's file '\(text)' does not exist") }
        guard let byteCount = attributes[.size] as? Int, byteCount <= Self.byteCountMax else {
            throw ColumnValueError(
                .externalFile, "the value's file '\(text)' has more than \(Self.byteCountMax) bytes")
        }
        do {
            return [UInt8](try Data(contentsOf: file))
        } catch {
            throw ColumnValueError(.externalFile, "the value's file '\(text)' cannot be read: \(error)")
        }
    }
}
