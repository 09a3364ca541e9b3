module fullbloom-native

go 1.19
