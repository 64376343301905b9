// Folders are layers: within a module no folder depends on itself through others, and an article gives their order.

extension Repository {
    /// The circles among the folders of a module, and the breaches of the order that its article `Layers.md` lists.
    ///
    /// Without such an article, the types alone give the order, and no folder calls members of later ones.
    func folderFindings() -> [Finding] {
        let modules = Dictionary(grouping: swiftFiles.filter(\.isProduct), by: \.target)
        return modules.sorted { $0.key < $1.key }.flatMap { module, files -> [Finding] in
            let graph = FolderGraph(files)
            let path = "Sources/\(module)/\(module).docc/Layers.md"
            let order = text(of: path).map { LayerList(path: path, text: $0).findings(of: graph) }
            return graph.circleFindings() + (order ?? graph.callFindings())
        }
    }
}
