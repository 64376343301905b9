// The text of storage errors: one complete sentence each, made in one place.

extension StorageError: CustomStringConvertible {
    /// A complete sentence that names the fault, its place and the remedy.
    public var description: String {
        switch self {
        case .io(let failure): failure.description
        case .corruption(let corruption): corruption.description
        case .diskFull:
            "The disk is full; the store can still be read, and can be written again when the disk has free space."
        case .path(let fault): fault.description
        case .opening(let fault): fault.description
        case .database(let fault): fault.description
        case .transaction(let fault): fault.description
        case .argument(let fault): fault.description
        case .maintenance(let fault): fault.description
        case .backup(let fault): fault.description
        }
    }
}

extension IOFailure: CustomStringConvertible {
    /// A complete sentence that names the call, the file and the error number.
    public var description: String {
        let name =
            switch file {
            case .store: "the store file"
            case .log: "the log file"
            case .directory: "the store's directory"
            case .copy: "the copy"
            case .scratch: "the temporary file"
            }
        guard errno != 0 else { return "The \(operation) of \(name) transferred fewer bytes than requested." }
        return "The \(operation) of \(name) failed: \(Platform.message(of: errno)) (errno \(errno))."
    }
}

extension Corruption: CustomStringConvertible {
    /// A complete sentence that names the file, the place and the broken rule.
    public var description: String {
        let tree = treeID == 0 ? "" : " of tree \(treeID)"
        let place =
            switch file {
            case .store: "Page \(page)\(tree) is damaged at byte \(byteOffset)"
            case .log where rule == .logForeign: "The log beside the store cannot be used"
            case .log:
                page == 0
                    ? "The log is damaged at byte \(byteOffset)"
                    : "Page \(page)\(tree) is damaged in the log at byte \(byteOffset)"
            case .directory: "The directory is damaged"
            case .copy: "Page \(page)\(tree) of the copy is damaged at byte \(byteOffset)"
            case .scratch: "The temporary file is damaged at byte \(byteOffset)"
            }
        return "\(place): \(rule)."
    }
}
