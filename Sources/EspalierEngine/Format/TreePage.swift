extension PageView { var slotsEnd: Int { 48 } }
